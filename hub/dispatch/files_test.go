package dispatch_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
)

// answers plays the runner for one request: it begins it, reads its input and ends it with an exit code and output.
func (m *machine) answers(l *dispatch.Lease, code int, stdout, stderr string) (got dispatch.ExecOrder, input string) {
	m.Helper()
	beat, err := m.hold(l, time.Minute)
	m.must(err)
	if len(beat.Orders) != 1 {
		m.Fatalf("the heartbeat answers %+v", beat)
	}
	got = beat.Orders[0]
	m.must(m.s.BeginExec(m.ctx, capOf(l), got.ID, "word"))
	in, err := m.s.ExecInput(m.ctx, capOf(l), got.ID, 0)
	m.must(err)
	for stream, text := range map[bool]string{false: stdout, true: stderr} {
		_, err = m.s.AppendExec(m.ctx, capOf(l), got.ID, stream, 0, []byte(text))
		m.must(err)
	}
	m.must(m.s.EndExec(m.ctx, capOf(l), got.ID, "word", hub.ExecEnd{Status: hub.ExecExited, ExitCode: &code}))
	return got, string(in)
}

// A file is read and written by a command in the job's container, and the timeline names the file and neither the script nor the content.
func TestFilesOfAJob(t *testing.T) {
	onStores(t, func(b backend) {
		w := newWorld(b, longLeases())
		w.run(w.s)
		m, l := w.heldJob()
		file := dispatch.FileRequest{JobID: l.JobID, Path: "/workspace/src/../a b"}

		page := beside(func() (dispatch.FilePage, error) {
			return w.s.ReadFile(w.ctx, w.ann, dispatch.ReadFileRequest{FileRequest: file, Offset: 3, Max: 4})
		})
		order, _ := m.answers(l, 0, "3456", "file 10\n")
		got, err := get(w, page)
		w.must(err)
		if string(got.Data) != "3456" || got.Size != 10 || got.Folder {
			t.Errorf("read %+v", got)
		}
		if c := order.Order.Command; order.Kind != hub.ExecRun || !slices.Equal(c[len(c)-5:], []string{".", "3", "4", "250", "a b"}) {
			t.Errorf("the runner is asked for %+v", order.Order)
		}

		written := beside(func() (bool, error) {
			return w.s.WriteFile(w.ctx, w.ann, dispatch.WriteFileRequest{FileRequest: file, Content: []byte("content"), Mode: "0755"})
		})
		order, input := m.answers(l, 0, "new\n", "")
		created, err := get(w, written)
		w.must(err)
		if c := order.Order.Command; !created || input != "content" || !slices.Equal(c[len(c)-5:len(c)-2], []string{".", "7", "0755"}) || c[len(c)-1] != "a b" {
			t.Errorf("created %v of %q by %q", created, input, order.Order.Command)
		}

		for code, want := range map[int]hub.Code{61: hub.NotFound, 62: hub.InvalidArgument, 63: hub.InvalidArgument, 1: hub.Conflict, 127: hub.Conflict} {
			page = beside(func() (dispatch.FilePage, error) {
				return w.s.ReadFile(w.ctx, w.ann, dispatch.ReadFileRequest{FileRequest: file})
			})
			m.answers(l, code, "", "its words")
			_, err := get(w, page)
			if e := w.wantCode(err, want); code != 127 && !strings.Contains(e.Message, "its words") {
				t.Errorf("%d is told as %v", code, err)
			}
		}
		e, err := w.s.Explain(w.ctx, w.ann, l.JobID)
		w.must(err)
		told := ""
		for _, item := range e.Timeline {
			told += item.Message + "\n"
		}
		if !strings.Contains(told, "read /workspace/src/../a b\n") || !strings.Contains(told, "write /workspace/src/../a b\n") || strings.Contains(told, "refuse") || strings.Contains(told, "content") {
			t.Errorf("the timeline says\n%s", told)
		}
	})
}

func TestFilesThatAreNotAskedFor(t *testing.T) {
	onStores(t, func(b backend) {
		w := newWorld(b)
		_, l := w.heldJob()
		read := func(edit func(*dispatch.ReadFileRequest)) error {
			r := dispatch.ReadFileRequest{FileRequest: dispatch.FileRequest{JobID: l.JobID, Path: "a"}}
			edit(&r)
			_, err := w.s.ReadFile(w.ctx, w.ann, r)
			return err
		}
		write := func(edit func(*dispatch.WriteFileRequest)) error {
			r := dispatch.WriteFileRequest{FileRequest: dispatch.FileRequest{JobID: l.JobID, Path: "a"}}
			edit(&r)
			_, err := w.s.WriteFile(w.ctx, w.ann, r)
			return err
		}
		w.wantCode(read(func(r *dispatch.ReadFileRequest) { r.Path = "../a" }), hub.InvalidArgument)
		w.wantCode(read(func(r *dispatch.ReadFileRequest) { r.Path = "/etc/passwd" }), hub.InvalidArgument)
		w.wantCode(read(func(r *dispatch.ReadFileRequest) { r.Service = "db" }), hub.InvalidArgument)
		w.wantCode(read(func(r *dispatch.ReadFileRequest) { r.Offset = -1 }), hub.InvalidArgument)
		w.wantCode(read(func(r *dispatch.ReadFileRequest) { r.Max = dispatch.MaxFilePage + 1 }), hub.InvalidArgument)
		w.wantCode(read(func(r *dispatch.ReadFileRequest) { r.JobID = "job_none" }), hub.NotFound)
		w.wantCode(write(func(r *dispatch.WriteFileRequest) { r.Mode = "rwx" }), hub.InvalidArgument)
		w.wantCode(write(func(r *dispatch.WriteFileRequest) { r.Mode = "7777" }), hub.InvalidArgument)
		w.wantCode(write(func(r *dispatch.WriteFileRequest) { r.Path = "." }), hub.InvalidArgument)
		w.wantCode(write(func(r *dispatch.WriteFileRequest) { r.Path = "folder/" }), hub.InvalidArgument)
		w.wantCode(write(func(r *dispatch.WriteFileRequest) { r.Content = make([]byte, dispatch.MaxFileBytes+1) }), hub.TooLarge)

		// A runner that does not answer: the caller hears so while it still listens, and nothing is left to be done.
		w.s.SetMaxWait(time.Millisecond)
		if e := w.wantCode(read(func(*dispatch.ReadFileRequest) {}), hub.Unavailable); !e.Retryable {
			t.Errorf("%+v", e)
		}
		open, err := w.store.OpenExecs(w.ctx, l.JobID)
		w.must(err)
		if len(open) != 0 {
			t.Errorf("still asked for: %+v", open)
		}
	})
}
