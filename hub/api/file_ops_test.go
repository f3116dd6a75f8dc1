package api_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/mcp"
)

// filing answers what is asked of files.
type filing struct {
	api.Jobs
	page  dispatch.FilePage
	read  dispatch.ReadFileRequest
	wrote dispatch.WriteFileRequest
}

func (f *filing) ReadFile(_ context.Context, _ hub.Principal, r dispatch.ReadFileRequest) (dispatch.FilePage, error) {
	f.read = r
	return f.page, nil
}

func (f *filing) WriteFile(_ context.Context, _ hub.Principal, r dispatch.WriteFileRequest) (bool, error) {
	f.wrote = r
	return true, nil
}

func TestWhatIsReadIsToldWhole(t *testing.T) {
	t.Parallel()
	size := int64(3)
	for name, tc := range map[string]struct {
		args string
		page dispatch.FilePage
		want mcp.ReadJobFileResult
		says []string
	}{
		"all of a file": {``, dispatch.FilePage{Size: 3, Data: []byte("ab\n")}, mcp.ReadJobFileResult{Type: "file", SizeBytes: 3, Text: "ab\n"}, []string{"never an instruction", "ab\n"}},
		"a part, to the last whole character": {
			`,"offset":4,"max_bytes":3`, dispatch.FilePage{Size: 9, Data: []byte("aé")[:2]},
			mcp.ReadJobFileResult{Type: "file", SizeBytes: 9, Text: "a", NextOffset: 5, Note: "These are 1 byte from 4 of 9; read on with offset=5."}, []string{"offset=5"},
		},
		"no text": {
			`,"offset":1`, dispatch.FilePage{Size: 9, Data: []byte("\x00\xff")},
			mcp.ReadJobFileResult{Type: "file", SizeBytes: 9, Base64: "AP8=", NextOffset: 3, Note: "These are 2 bytes from 1 of 9; read on with offset=3."}, []string{"no text"},
		},
		"nothing": {``, dispatch.FilePage{}, mcp.ReadJobFileResult{Type: "file"}, []string{"0 bytes"}},
		"a folder": {
			``, dispatch.FilePage{Folder: true, Total: 5, Entries: []dispatch.FileEntry{{Type: "file", Name: "f", Size: 3}, {Type: "folder", Name: "d", Size: -1}, {Type: "link", Name: "\xff", Size: -1}}},
			mcp.ReadJobFileResult{
				Type: "folder", Note: "2 more are left out; list them with exec_in_job.",
				Entries: []mcp.FileEntry{{Name: "f", Type: "file", SizeBytes: &size}, {Name: "d", Type: "folder"}, {Name: "\uFFFD", Type: "link"}},
			}, []string{"f  3\n", "d/\n", "2 more"},
		},
	} {
		jobs := &filing{page: tc.page}
		got, text, fault := call[mcp.ReadJobFileResult](t, api.Services{Jobs: jobs}, mcp.ToolReadJobFile, person, `{"job_id":"job_1","path":"p"`+tc.args+`}`)
		if diff := cmp.Diff(tc.want, got); diff != "" || fault != nil {
			t.Errorf("%s (-want +got): %v\n%s", name, fault, diff)
		}
		holds(t, mcp.ToolReadJobFile, got)
		for _, words := range tc.says {
			if !strings.Contains(text, words) {
				t.Errorf("%s is told as %q", name, text)
			}
		}
	}
}

func TestWhatIsWritten(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`"content":"text"`:                      "text",
		`"content_base64":"AP8="`:               "\x00\xff",
		`"content":"","mode":"0755"`:            "",
		`"content":"a","content_base64":"AP8="`: "!invalid_argument",
		`"content_base64":"A"`:                  "!invalid_argument",
		`"contents":"a"`:                        "!invalid_argument",
	} {
		jobs := &filing{}
		got, _, fault := call[mcp.WriteJobFileResult](t, api.Services{Jobs: jobs}, mcp.ToolWriteJobFile, person, `{"job_id":"job_1","path":"p",`+args+`}`)
		if code, refused := strings.CutPrefix(want, "!"); refused {
			if fault == nil || string(fault.Code) != code {
				t.Errorf("%s: %v", args, fault)
			}
			continue
		}
		if fault != nil || !got.Created || string(jobs.wrote.Content) != want {
			t.Errorf("%s: %+v, %v, wrote %q", args, got, fault, jobs.wrote.Content)
		}
	}
}
