package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/hub/blobstore"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/enroll"
	"github.com/runnerhub/runnerhub/hub/identity"
	"github.com/runnerhub/runnerhub/hub/memory"
	"github.com/runnerhub/runnerhub/hub/storetest"
	"github.com/runnerhub/runnerhub/hub/web"
	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/pairing"
)

// Whatever is asked of an operation over HTTP, by somebody who may, is answered in JSON or refused with a typed error of
// the status that belongs to its code: a hub does not panic and does not call a bad request an internal error.
func FuzzRequests(f *testing.F) {
	bucket, err := blobstore.Open(f.Context(), f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = bucket.Close() })
	ops := api.Operations(api.Services{}) // the table is the same over any services
	for i, op := range ops {
		f.Add(uint(i), held, "", "")
		f.Add(uint(i), "nobody", "wait_ms=-1&cursor=%00", "null")
		for _, body := range bodies[op.Name] {
			f.Add(uint(i), held, "", body)
		}
	}
	f.Fuzz(func(t *testing.T, op uint, element, query, body string) {
		if element == "" || element == "." || element == ".." {
			return // the router sends whoever asks for that elsewhere
		}
		d := newDesk(t, bucket)
		o := &ops[op%uint(len(ops))]
		path := o.Route.Path
		for _, name := range web.PathFields(path) {
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(d.real(element)))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // calls that are held end soon
		defer cancel()
		res := d.ask(ctx, t, o, path, query, d.real(body))
		raw := bytes.TrimSpace(res.Body.Bytes())
		if !json.Valid(raw) {
			t.Fatalf("%s answers %d with %q", o.Name, res.Code, raw)
		}
		if res.Code == http.StatusOK {
			return
		}
		var e mcp.Error
		if err := json.Unmarshal(raw, &e); err != nil || e.Message == "" || e.Code == mcp.CodeInternal || e.Code.Info().HTTP != res.Code {
			t.Fatalf("%s answers %d with %s", o.Name, res.Code, raw)
		}
	})
}

// What stands in a seed for the job that the runner holds, and for the token of its lease.
const (
	held  = "HELD"
	token = "TOKEN"
)

const proof = `"attempt":1,"lease_epoch":1,"lease_token":"TOKEN"`

// bodies are requests that get far, by tool.
var bodies = map[string][]string{
	mcp.ToolSubmitJob: {
		`{"spec":"image: busybox\nconcurrency: {group: g}\n","idempotency_key":"k","priority":100}`,
		`{"spec":{"image":"busybox","retry":{"max_attempts":2}},"target":"workspace","wait_ms":1}`,
	},
	mcp.ToolCheckJob:        {`{"spec":"image: [","target":"self"}`, `{"spec":{"image":"busybox","requires":["gpu"]}}`},
	mcp.ToolCancelJob:       {`{"reason":"no need"}`},
	mcp.ToolWriteJobFile:    {`{"path":"a/b","content":"text","mode":"0755"}`, `{"path":"../a","content_base64":"AA=="}`},
	mcp.ToolRetryJob:        {`{"idempotency_key":"k"}`},
	mcp.ToolLeaseJob:        {`{"request_id":"other","protocol":1,"slots":2,"free_slots":1,"status":{"text":"t","level":"warning"}}`},
	mcp.ToolHeartbeatJob:    {`{` + proof + `,"phase":"running","step":"s","progress":"50 %"}`},
	mcp.ToolSubmitJobResult: {`{` + proof + `,"result":{"status":"succeeded","exit_code":0},"next_lease":{"request_id":"n","protocol":1}}`},
	mcp.ToolFailJob:         {`{` + proof + `,"class":"image_pull","message":"m"}`},
	mcp.ToolReleaseJob:      {`{` + proof + `,"reason":"r"}`},
	mcp.ToolUploadArtifact: {
		`{` + proof + `,"name":"n","path":"out/a","size":1,"sha256":"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"}`,
	},
}

// desk is a hub in memory at which a runner holds the job of a person.
type desk struct {
	front          http.Handler
	person         string // API key
	runner         string // token
	heldJob, nonce string
}

func newDesk(t *testing.T, bucket hub.Bucket) *desk {
	t.Helper()
	ctx, store := t.Context(), memory.New()
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	jobs := dispatch.New(dispatch.Config{Store: store, Bucket: bucket, Policy: hub.DefaultPolicy(), Logger: log})
	accounts := identity.New(store, jobs.Now)
	d := &desk{person: pairing.New(pairing.APIKey), runner: pairing.New(pairing.RunnerToken)}
	if _, err := accounts.Bootstrap(ctx, d.person); err != nil {
		t.Fatal(err)
	}
	admin, err := accounts.Authenticate(ctx, d.person, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	r := storetest.NewRunner(hub.UserOwner(admin.User.ID))
	r.TokenDigest = hub.Digest(d.runner)
	storetest.AddRunner(t, store, r)
	roster := enroll.New(store, jobs.Now, hub.DefaultPolicy(), nil)
	ops := api.Operations(api.Services{Jobs: jobs, Roster: roster, Accounts: accounts})
	d.front = web.New(web.Options{Operations: ops, Auth: accounts, MCP: http.NotFoundHandler(), Logs: jobs, Uploads: jobs, Files: jobs, Execs: jobs, Log: log})

	var lease mcp.LeaseJobResult
	d.get(t, ops, mcp.ToolSubmitJob, `{"spec":"image: busybox\n"}`, new(mcp.SubmitJobResult))
	d.get(t, ops, mcp.ToolLeaseJob, `{"request_id":"first","protocol":1,"os":"linux","arch":"amd64","capabilities":["docker"],"slots":1,"free_slots":1}`, &lease)
	if lease.Lease == nil {
		t.Fatal("there is no lease")
	}
	d.heldJob, d.nonce = lease.Lease.JobID, lease.Lease.LeaseToken
	return d
}

// get calls an operation that must answer.
func (d *desk) get(t *testing.T, ops []api.Operation, name, body string, out any) {
	t.Helper()
	i := slices.IndexFunc(ops, func(op api.Operation) bool { return op.Name == name })
	res := d.ask(t.Context(), t, &ops[i], ops[i].Route.Path, "", body)
	if err := json.Unmarshal(res.Body.Bytes(), out); err != nil || res.Code != http.StatusOK {
		t.Fatalf("%s answers %d with %s", name, res.Code, res.Body)
	}
}

// real puts what there is in place of what stands for it in seeds.
func (d *desk) real(s string) string {
	return strings.NewReplacer(held, d.heldJob, token, d.nonce).Replace(s)
}

// ask calls an operation as whom it is for.
func (d *desk) ask(ctx context.Context, t *testing.T, op *api.Operation, path, query, body string) *httptest.ResponseRecorder {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, op.Route.Method, "http://localhost"+api.Base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.URL.RawQuery = query
	req.RemoteAddr = "127.0.0.1:1"
	req.Header.Set("Content-Type", "application/json")
	switch op.Audience {
	case api.People:
		req.Header.Set("Authorization", "Bearer "+d.person)
	case api.Runner:
		req.Header.Set("Authorization", "Bearer "+d.runner)
	}
	res := httptest.NewRecorder()
	d.front.ServeHTTP(res, req)
	return res
}
