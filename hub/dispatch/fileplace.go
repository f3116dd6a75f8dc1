package dispatch

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/topology"
)

// filePlace is where a file is asked for.
type filePlace struct {
	FileRequest
	shell    string   // a sh that the container has
	root     string   // the folder that is not left; "." is the one that commands start in
	elements []string // of the path below it
}

// findFile finds the place of a path without looking into the container: where links lead is seen there.
func (s *Service) findFile(ctx context.Context, p hub.Principal, r FileRequest) (filePlace, error) {
	if _, _, err := s.job(ctx, p, r.JobID); err != nil {
		return filePlace{}, err
	}
	payload, err := s.store.GetPayload(ctx, r.JobID)
	if err != nil {
		return filePlace{}, err
	}
	spec, err := topology.Parse(payload.Spec)
	if err != nil {
		return filePlace{}, fmt.Errorf("the spec of %s cannot be read any more: %w", r.JobID, err)
	}
	at := filePlace{FileRequest: r, shell: spec.HoldingShell(), root: "."}
	within := spec.Workspace()
	if r.Service != "" {
		at.shell, at.root, within = "/bin/sh", "/", ""
	}
	at.elements, err = below(within, r.Path)
	return at, err
}

// below returns the elements of a path below a folder, an absolute path of a container's; "" is all of the container, of which
// only absolute paths mean something.
func below(folder, p string) ([]string, error) {
	outside := func(why string) error {
		return hub.Errorf(hub.InvalidArgument, "%q %s", clip(p, 80), why).
			WithHint("only files below the working directory are read and written: send a path like src/main.go; exec_in_job reaches the others")
	}
	switch {
	case p == "" || len(p) > maxPath || strings.ContainsRune(p, 0):
		return nil, hub.Errorf(hub.InvalidArgument, "the path has 1 to %d bytes, and no zero byte", maxPath)
	case folder == "" && !path.IsAbs(p):
		return nil, hub.Errorf(hub.InvalidArgument, "a path in a service is absolute, and %q is not", clip(p, 80))
	}
	clean := path.Clean(p)
	if path.IsAbs(p) {
		rest, ok := strings.CutPrefix(clean+"/", strings.TrimSuffix(path.Clean("/"+folder), "/")+"/")
		if !ok {
			return nil, outside("is not below " + folder)
		}
		clean = path.Clean(rest)
	}
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return nil, outside("leads out of the working directory")
	}
	return slices.DeleteFunc(strings.Split(clean, "/"), func(e string) bool { return e == "" || e == "." }), nil
}

// command is a script's command line.
func (at filePlace) command(script string, options []string) []string {
	return slices.Concat([]string{at.shell, "-c", script, at.shell, at.root}, options, at.elements)
}

// What the scripts exit with when they refuse, and shells that are not there.
const (
	fileMissing = 61
	fileKind    = 62 // a folder where a file is wanted, or the other way round
	fileOutside = 63
	noProgram   = 127
	notRunnable = 126
)

// refusal is why a script did not do what it was asked for, nil where it did.
func (at filePlace) refusal(out ExecPage) error {
	end := out.Exec.End
	if end.ExitCode == nil {
		return hub.Errorf(hub.Conflict, "the file was not reached: %s", end.Message).WithHint("explain_job says how the job is")
	}
	about := func(c hub.Code) *hub.Error {
		why := strings.TrimSpace(strings.ToValidUTF8(string(out.Stderr), "\uFFFD"))
		return hub.Errorf(c, "%q: %s", clip(at.Path, 80), clip(why, 300))
	}
	switch *end.ExitCode {
	case 0:
		return nil
	case fileMissing:
		return about(hub.NotFound).WithHint("read_job_file lists a folder: its path alone, . for the working directory")
	case fileKind:
		return about(hub.InvalidArgument)
	case fileOutside:
		return about(hub.InvalidArgument).WithHint("a link on the way leads out of the working directory; exec_in_job reaches what it leads to")
	case noProgram, notRunnable:
		return hub.Errorf(hub.Conflict, "the container has no %s or not the programs that reading and writing files needs", at.shell).
			WithHint("copy files with `runnerctl cp`, which needs none")
	}
	return about(hub.Conflict)
}

// filePage reads what the reading script has put out. The container has written that, and may have written anything.
func filePage(stdout, stderr []byte, r ReadFileRequest) (FilePage, error) {
	kind, number, _ := strings.Cut(strings.TrimSuffix(string(stderr), "\n"), " ")
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n < 0 || kind != "file" && kind != "folder" {
		return FilePage{}, hub.Errorf(hub.Conflict, "the container's answer about %q cannot be read: %q", clip(r.Path, 80), clip(string(stderr), 200)).
			WithHint("read it with exec_in_job")
	}
	if kind == "folder" {
		entries, err := fileEntries(stdout)
		return FilePage{Folder: true, Entries: entries, Total: max(int(n), len(entries))}, err
	}
	if r.Offset > n {
		return FilePage{}, hub.Errorf(hub.InvalidArgument, "offset %d is beyond the file's %d bytes", r.Offset, n).
			WithHint("start at 0, and go on from next_offset of the answer before")
	}
	stdout = stdout[:min(int64(len(stdout)), r.Max)]
	return FilePage{Size: max(n, r.Offset+int64(len(stdout))), Data: stdout}, nil // it may have grown meanwhile
}

// fileEntries reads a folder's listing: the type and the name of each entry with a zero byte after them, and after another one
// their sizes, one a line.
func fileEntries(listing []byte) ([]FileEntry, error) {
	var out []FileEntry
	for {
		kind, rest, ok := bytes.Cut(listing, []byte{0})
		if ok && len(kind) == 0 {
			listing = rest
			break
		}
		name, rest, whole := bytes.Cut(rest, []byte{0})
		if !ok || !whole || len(out) == maxFileEntries {
			return nil, hub.Errorf(hub.Conflict, "the folder's listing cannot be read").WithHint("list it with exec_in_job")
		}
		e := FileEntry{Type: string(kind), Name: string(name), Size: -1}
		switch e.Type {
		case "file", "folder", "link", "other":
		default:
			e.Type = "other"
		}
		out, listing = append(out, e), rest
	}
	sizes := strings.Fields(string(listing))
	if len(sizes) != len(out) {
		return out, nil
	}
	for i, size := range sizes {
		if n, err := strconv.ParseInt(size, 10, 64); err == nil && n >= 0 && out[i].Type == "file" {
			out[i].Size = n
		}
	}
	return out, nil
}
