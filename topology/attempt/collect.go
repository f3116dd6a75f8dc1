package attempt

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// lateCollect is how long what a job left may take to be fetched once the attempt is to stop.
const lateCollect = 15 * time.Second

// collect fetches what the job left that is to be kept: its outputs, its reports and its artifacts. What cannot be
// fetched fails a job that succeeded; of one that failed the first cause stays, and the log tells.
func (x *execution) collect(r *topology.Result) {
	if x.job == nil && !x.jobStarted() || r.Status == topology.Canceled || errors.Is(context.Cause(x.ctx), topology.ErrStale) ||
		r.Failure != nil && r.Failure.Class == topology.ClassDockerUnavailable {
		return
	}
	ctx, cancel := x.ctx, context.CancelFunc(func() {})
	if ctx.Err() != nil { // it ran out of time: its last files say why
		ctx, cancel = context.WithTimeout(x.live, lateCollect)
	}
	defer cancel()
	var failed error
	r.Outputs, failed = x.outputs(ctx)
	c := &collector{x: x, result: r, seen: map[string]bool{}, kept: map[string]topology.CollectedFile{}}
	if err := c.run(ctx); failed == nil {
		failed = err
	}
	if x.spec.Collect == topology.CollectPatch {
		if err := c.patch(ctx); failed == nil {
			failed = err
		}
	}
	if failed != nil {
		x.uncollected(r, failed)
	}
}

func (x *execution) jobStarted() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.running
}

// uncollected makes of an error what is told of it.
func (x *execution) uncollected(r *topology.Result, err error) {
	if x.ctx.Err() != nil && r.Status == topology.Succeeded {
		o := x.ended(topology.Exit{}, err)
		if o.result.Status != topology.Failed { // canceled or out of time while it was collected
			r.Status, r.Failure = o.result.Status, o.result.Failure
			return
		}
		err = context.Cause(x.ctx)
	}
	f := failureOf(err)
	var own *collectError
	if errors.As(err, &own) {
		f = topology.Failure{Class: topology.ClassArtifact, Message: own.message, Hint: own.hint, Container: "job"}
	}
	if isDiskFull(err) {
		f = topology.Failure{Class: topology.ClassDiskFull, Message: "There is no room on the runner's machine for what the job left.", Hint: "Free space on the runner's machine."}
	}
	if r.Status != topology.Succeeded {
		x.say("%s", f.Message)
		return
	}
	f.Message = "The job succeeded, but not all that it left could be kept. " + f.Message
	if f.Container == "" && f.Class != topology.ClassDockerUnavailable {
		// Not the class that the machine's fault has elsewhere: for that the job would be run again, with all that it did.
		f.Class, f.Machine = topology.ClassArtifact, true
	}
	r.Status, r.Failure = topology.Failed, &f
	x.say("%s", f.Message)
	if f.Hint != "" {
		x.say("Hint: %s", f.Hint)
	}
}

// collectError is a fault of what the job left, or of what its spec wants of it.
type collectError struct{ message, hint string }

func (e *collectError) Error() string { return e.message }

func faultf(hint, format string, args ...any) error {
	return &collectError{fmt.Sprintf(format, args...), hint}
}

// collector goes through the workspace for artifacts and reports.
type collector struct {
	x      *execution
	result *topology.Result
	seen   map[string]bool // paths that were looked at
	bytes  int64
	links  []string // the first matched files that are links
	tests  reports
	kept   map[string]topology.CollectedFile // by path
	hard   []string                          // hard links to what was not kept
	passed *collectError                     // what is told of the files that could not be kept; nil is none
	first  string                            // its message, before others came to it
	others int                               // files that could not be kept either
}

func (c *collector) run(ctx context.Context) error {
	spec := c.x.spec
	bases := map[string]bool{}
	for _, a := range spec.Artifacts {
		bases[topology.GlobBase(a.Path)] = true
	}
	patterns := spec.Reports.Patterns()
	for _, p := range patterns {
		bases[topology.GlobBase(p)] = true
	}
	if len(bases) == 0 {
		return nil
	}
	for base := range bases {
		if inAnother(base, bases) {
			continue
		}
		if err := c.walk(ctx, base); err != nil {
			return err
		}
		if err := c.fetchLinks(ctx); err != nil {
			return err
		}
	}
	slices.SortFunc(c.result.Artifacts, func(a, b topology.CollectedFile) int { return strings.Compare(a.Path, b.Path) })
	if len(patterns) > 0 {
		c.result.Tests = c.tests.counts()
		if c.tests.files == 0 {
			c.x.say("There is no report that matches %s.", strings.Join(patterns, ", "))
		}
	}
	for _, link := range c.links {
		c.x.say("%s is a symbolic link and was not kept.", link)
	}
	if c.passed != nil {
		return c.passed
	}
	return c.missing()
}

// inAnother says whether a folder is within another one that is looked through anyway.
func inAnother(base string, bases map[string]bool) bool {
	if base == "." {
		return false
	}
	for dir := base; dir != "."; {
		if dir = path.Dir(dir); bases[dir] {
			return true
		}
	}
	return false
}

// missing is the fault of entries that matched nothing.
func (c *collector) missing() error {
	for _, a := range c.x.spec.Artifacts {
		if a.Optional || slices.ContainsFunc(c.result.Artifacts, func(f topology.CollectedFile) bool { return topology.GlobMatch(a.Path, f.Path) }) {
			continue
		}
		hint := "Paths are below the working directory, " + c.x.spec.Workspace() + "; set optional: true where there may be none."
		if c.x.spec.OnHost() {
			hint = "Paths are below the folder that the job starts in; set optional: true where there may be none."
		}
		if len(c.links) > 0 {
			hint = "Symbolic links are not followed: name what they point to."
		}
		what := a.Path
		if a.Name != a.Path {
			what = fmt.Sprintf("%s (%s)", a.Name, a.Path)
		}
		return faultf(hint, "No file matches the artifact %s.", what)
	}
	return nil
}

// walk looks through what is at or below a path of the workspace.
func (c *collector) walk(ctx context.Context, base string) error {
	return c.read(ctx, base, c.entry)
}

// read hands over what is at or below a path of the workspace. Names of headers, and
// what hard links name, are paths there.
func (c *collector) read(ctx context.Context, base string, entry func(*tar.Header, io.Reader) error) error {
	stream, err := c.x.e.engine.CopyFrom(ctx, c.x.names.Job, path.Join(c.x.spec.Workspace(), base))
	if topology.KindOf(err) == topology.KindNotFound {
		return nil // then nothing matches
	}
	if err != nil {
		return err
	}
	defer stream.Close()
	for t := tar.NewReader(stream); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the files of the job: %w", err)
		}
		h.Name = below(base, h.Name)
		if h.Typeflag == tar.TypeLink {
			h.Linkname = below(base, h.Linkname)
		}
		if err := entry(h, t); err != nil {
			return err
		}
	}
}

// below is the path of a name in a stream, which begins with the last element of what
// was asked for.
func below(base, name string) string {
	_, rest, _ := strings.Cut(path.Clean(name), "/")
	return path.Join(base, rest)
}

// entry keeps or reads a file where the spec wants it.
func (c *collector) entry(h *tar.Header, content io.Reader) error {
	at := h.Name
	entry := slices.IndexFunc(c.x.spec.Artifacts, func(a topology.Artifact) bool { return topology.GlobMatch(a.Path, at) })
	format, report := c.x.spec.Reports.FormatOf(at)
	if entry < 0 && !report || c.seen[at] {
		return nil
	}
	switch h.Typeflag {
	case tar.TypeReg:
	case tar.TypeLink:
		return c.hardLink(h)
	case tar.TypeSymlink:
		if entry >= 0 && len(c.links) < maxLinksTold {
			c.links = append(c.links, at)
		}
		return nil
	default:
		return nil
	}
	if entry < 0 && c.tests.files >= maxReports {
		c.tests.passOver()
		return nil
	}
	c.seen[at] = true
	if entry < 0 {
		c.tests.read(at, format, content, c.x.say)
		return nil
	}
	var f topology.CollectedFile
	err := faultf("Call the file differently.", "%s is the name of the job's patch.", at)
	if at != topology.PatchFile || c.x.spec.Collect != topology.CollectPatch {
		f, err = c.keep(h, at, content)
	}
	if fault, ok := errors.AsType[*collectError](err); ok {
		return c.passOver(fault)
	}
	if err != nil {
		return err
	}
	f.Name = c.x.spec.Artifacts[entry].Name
	c.kept[at] = f
	c.result.Artifacts = append(c.result.Artifacts, f)
	if report {
		return c.readKept(f, format)
	}
	return nil
}

// keep copies a file to this machine.
func (c *collector) keep(h *tar.Header, at string, content io.Reader) (f topology.CollectedFile, err error) {
	to := c.x.work.Collect
	switch {
	case to == nil:
		return f, errors.New("attempt: there is no folder for artifacts")
	case len(at) > maxArtifactPath || strings.ContainsFunc(at, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' || r == '\\' }):
		return f, faultf("Rename it in a step.", "The name of the file %q cannot be that of an artifact.", clipName(at))
	case to.MaxFiles > 0 && len(c.result.Artifacts) >= to.MaxFiles:
		return f, faultf("Narrow the paths, or pack the files into one in a step.", "The artifacts are more than %d files, which is the hub's limit.", to.MaxFiles)
	case to.MaxBytes > 0 && h.Size > to.MaxBytes-c.bytes:
		return f, faultf("Narrow the paths, or compress the files in a step.", "The artifacts have more than %d bytes together, which is the hub's limit; %s has %d.", to.MaxBytes, at, h.Size)
	}
	if err := os.MkdirAll(to.Dir, 0o700); err != nil {
		return f, err
	}
	f = topology.CollectedFile{
		Path: at, Executable: h.Mode&0o111 != 0, File: filepath.Join(to.Dir, fmt.Sprintf("%06d", len(c.result.Artifacts))),
	}
	out, err := os.OpenFile(f.File, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return f, err
	}
	hash := sha256.New()
	f.Size, err = io.Copy(io.MultiWriter(out, hash), content)
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	c.bytes += f.Size
	f.SHA256 = hash.Sum(nil)
	return f, err
}

// readKept reads a report that is an artifact, too.
func (c *collector) readKept(f topology.CollectedFile, format topology.ReportFormat) error {
	in, err := os.Open(f.File)
	if err != nil {
		return err
	}
	defer in.Close()
	c.tests.read(f.Path, format, in, c.x.say)
	return nil
}

// maxLinksTold is how many links the log names that were not kept.
const maxLinksTold = 5

// maxArtifactPath is the most bytes of an artifact's path.
const maxArtifactPath = 1024

func clipName(s string) string {
	if len(s) > 100 {
		return s[:100] + "…"
	}
	return s
}
