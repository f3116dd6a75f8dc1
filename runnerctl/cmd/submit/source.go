package submit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/docker/go-units"
	"github.com/schollz/progressbar/v3"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/runnerctl/archive"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/worktree"
	"github.com/runnerhub/runnerhub/topology"
)

// maxLinks is how many of the links that are left out are named.
const maxLinks = 5

// withSource packs the folder of --source, uploads it unless the hub has it, adds the
// patch of --patch, and returns the spec that starts from both. A spec that cannot be
// used comes back as it is, for the hub to say what is wrong with it, before anything is sent.
func withSource(ctx context.Context, o *Options, client *mcpclient.Client, spec json.RawMessage) (json.RawMessage, error) {
	var text string
	if err := json.Unmarshal(spec, &text); err != nil {
		return nil, err
	}
	s, err := topology.Parse([]byte(text))
	if err != nil {
		return spec, nil // the hub says what is wrong with all that belongs to it
	}
	if s.Source == nil {
		s.Source = &topology.Source{}
	}
	if err := addPatch(ctx, o, s); err != nil {
		return nil, err
	}
	if o.Source == "" {
		return s.Canonical()
	}
	if s.Source.Repository != "" || s.Source.Archive != "" {
		return nil, cmdutil.Usagef("the spec names a source of its own: leave out --source, or take it out of the spec")
	}
	tree, err := worktree.Scan(ctx, o.Source, archive.Limits{})
	if err != nil {
		return nil, sourceError(o, err)
	}
	tell(o, tree)
	if o.Check {
		return spec, nil
	}
	packed, err := pack(ctx, o, tree)
	if err != nil {
		return nil, sourceError(o, err)
	}
	defer packed.Close()
	if err := upload(ctx, o, client, packed); err != nil {
		return nil, err
	}
	s.Source.Archive = packed.Digest
	return s.Canonical()
}

// sourceError says what is wrong with a working tree.
func sourceError(o *Options, err error) error {
	if bad, ok := errors.AsType[*archive.Error](err); ok {
		return &mcp.Error{Code: mcp.CodeInvalidArgument, Message: "the source " + o.Source + " cannot be packed: " + bad.Message, Hint: bad.Hint}
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return cmdutil.Usagef("cannot pack the source %s: %w", o.Source, err)
}

// tell shows what would go, before it does.
func tell(o *Options, t *worktree.Tree) {
	o.F.IO.Note("source %s: %s, %s\n", o.Source, count(t.Files, "file"), units.BytesSize(float64(t.Bytes)))
	if n := len(t.Links); n > 0 {
		names := strings.Join(t.Links[:min(n, maxLinks)], ", ")
		if n > maxLinks {
			names += ", …"
		}
		o.F.IO.Note("left out, as they lead out of it: %s (%s)\n", count(n, "symbolic link"), names)
	}
	if t.Other > 0 {
		o.F.IO.Note("left out: %s that cannot be packed (sockets, pipes, devices)\n", count(t.Other, "file"))
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func pack(ctx context.Context, o *Options, t *worktree.Tree) (*worktree.Packed, error) {
	bar := newBar(o, "packing", t.Bytes)
	defer bar.close()
	return t.Pack(ctx, func(n int64) { bar.add(n) })
}

func upload(ctx context.Context, o *Options, client *mcpclient.Client, p *worktree.Packed) error {
	ticket, err := client.UploadSource(ctx, mcp.UploadSourceArgs{
		SHA256: strings.TrimPrefix(p.Digest, "sha256:"), Size: p.Size, Target: o.Target, Workspace: o.Workspace,
	})
	if err != nil {
		return err
	}
	size := units.BytesSize(float64(p.Size))
	if ticket.Exists {
		o.F.IO.Note("packed %s; the hub has it already\n", size)
		return nil
	}
	o.F.IO.Note("packed %s; uploading\n", size)
	bar := newBar(o, "uploading", p.Size)
	defer bar.close()
	bar.set(ticket.NextOffset)
	return client.Upload(ctx, ticket, p, p.Size, bar.set)
}

// bar shows progress on a terminal, and nothing elsewhere.
type bar struct{ shown *progressbar.ProgressBar }

func newBar(o *Options, what string, size int64) bar {
	if !o.F.IO.ErrTTY || size == 0 {
		return bar{}
	}
	return bar{progressbar.NewOptions64(size, progressbar.OptionSetWriter(o.F.IO.Err), progressbar.OptionSetDescription(what),
		progressbar.OptionShowBytes(true), progressbar.OptionClearOnFinish(), progressbar.OptionFullWidth())}
}

// A bar that cannot be drawn must not end the upload.
func (b bar) add(n int64) {
	if b.shown != nil {
		_ = b.shown.Add64(n)
	}
}

func (b bar) set(n int64) {
	if b.shown != nil {
		_ = b.shown.Set64(n)
	}
}

func (b bar) close() {
	if b.shown != nil {
		_ = b.shown.Finish()
	}
}
