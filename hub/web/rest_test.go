package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/web"
	"github.com/runnerhub/runnerhub/mcp"
)

func TestQueryPathAndBodyBecomeArguments(t *testing.T) {
	t.Parallel()
	d := open(t, nil)
	got := d.send(t, "GET", "/api/v1/jobs?state=active&limit=7&since=2026-01-02T03:04:05Z&label=a%20b&workspace=w", adaToken, "")
	if got.status != 200 || !strings.Contains(got.body, `"jobs":[]`) {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	r := d.jobs.listed
	if len(r.States) != 3 || r.Limit != 7 || !r.Since.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) || r.Label != "a b" || r.Workspace != "w" {
		t.Errorf("asked for %+v", r)
	}
	if d.jobs.asker.Actor() != "user:usr_ada" || d.jobs.asker.Address != "127.0.0.1" {
		t.Errorf("asked by %+v", d.jobs.asker)
	}
	got = d.send(t, "GET", "/api/v1/jobs/job_42", adaToken, "")
	if got.status != 200 || !strings.Contains(got.body, `"id":"job_42"`) {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	got = d.send(t, "POST", "/api/v1/lease", runnerToken, `{"request_id":"r","protocol":1}`)
	if got.status != 200 || !strings.Contains(got.body, `"log_url":"`+d.url+`/api/v1/logs/`+logToken+`"`) {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	got = d.send(t, "POST", "/api/v1/pairing", "", `{"machine":{"hostname":"h","os":"l","arch":"a","version":"1"},"public_key":"k"}`)
	if got.status != 200 || !strings.Contains(got.body, `"verification_url":"`+d.url+`/pair#code=BCDF-GHJK"`) {
		t.Errorf("status %d: %s", got.status, got.body)
	}
}

func TestWrongRequestsAreToldInWords(t *testing.T) {
	t.Parallel()
	d := open(t, nil)
	for name, tc := range map[string]struct{ method, path, body, want string }{
		"query of a wrong type": {"GET", "/api/v1/jobs?limit=many", "", "limit must be an integer, not a string"},
		"unknown query":         {"GET", "/api/v1/jobs?stat=active", "", "stat is not a known field; did you mean state?"},
		"query twice":           {"GET", "/api/v1/jobs?limit=1&limit=2", "", "limit is in the query more than once"},
		"broken query":          {"GET", "/api/v1/jobs?a=%zz", "", "the query cannot be read"},
		"path and query":        {"GET", "/api/v1/jobs/job_1?job_id=job_2", "", "job_id is in the path already"},
		"path and body":         {"POST", "/api/v1/jobs/job_1/cancel", `{"job_id":"job_2"}`, "job_id is in the path already"},
		"query and body":        {"POST", "/api/v1/jobs/job_1/cancel?reason=a", `{"reason":"b"}`, "reason is in the query and in the body"},
		"no object":             {"POST", "/api/v1/jobs/job_1/cancel", `[]`, "the body is not a JSON object"},
		"no JSON":               {"POST", "/api/v1/jobs/job_1/cancel", `{`, "the body is not a JSON object"},
		"unknown field":         {"POST", "/api/v1/jobs/job_1/cancel", `{"raeson":"b"}`, "raeson is not a known field; did you mean reason?"},
		"missing field":         {"POST", "/api/v1/jobs", `{}`, "spec is required"},
		"long id":               {"GET", "/api/v1/jobs/job_" + strings.Repeat("1", 100), "", "job_id has 104 bytes; at most 64 are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := d.send(t, tc.method, tc.path, adaToken, tc.body)
			if f := got.fault(t); got.status != 400 || f.Code != mcp.CodeInvalidArgument || !strings.Contains(f.Message, tc.want) {
				t.Errorf("status %d: %s", got.status, got.body)
			}
		})
	}
}

func TestLogBytes(t *testing.T) {
	t.Parallel()
	d := open(t, nil)
	put := func(path, body string) answer { return d.send(t, http.MethodPut, path, "", body) }
	url := "/api/v1/logs/" + logToken
	if got := put(url+"?offset=0", "a\x00\xff"); got.status != 200 || got.body != "{\"next_offset\":3}\n" {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	if got := put(url+"?offset=9", "b"); got.status != 409 || got.fault(t).Details["next_offset"] != 3.0 {
		t.Errorf("a gap: %d %s", got.status, got.body)
	}
	for name, tc := range map[string]struct {
		path, body string
		status     int
	}{
		"no offset":       {url, "b", 400},
		"negative offset": {url + "?offset=-1", "b", 400},
		"huge offset":     {url + "?offset=99999999999999999999", "b", 400},
		"too much":        {url + "?offset=3", strings.Repeat("x", mcp.MaxLogChunk+1), 413},
		"mistyped token":  {"/api/v1/logs/" + logToken[:len(logToken)-1] + "?offset=3", "b", 404},
		"runner's token":  {"/api/v1/logs/" + runnerToken + "?offset=3", "b", 404},
	} {
		if got := put(tc.path, tc.body); got.status != tc.status || got.fault(t).Hint == "" {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	if got := put(url+"?offset=3", strings.Repeat("x", mcp.MaxLogChunk)); got.status != 200 {
		t.Errorf("the largest chunk: %d %s", got.status, got.body)
	}
	if got := d.send(t, "POST", url, adaToken, "{}"); got.status != 405 || got.header.Get("Allow") != "PUT" {
		t.Errorf("POST: %d %v", got.status, got.header)
	}
}

func TestFailedSignInsAreLimited(t *testing.T) {
	t.Parallel()
	var seconds atomic.Int64
	d := open(t, func(o *web.Options) { o.Now = func() time.Time { return time.Unix(seconds.Load(), 0) } })
	if got := d.send(t, "GET", "/api/v1/jobs", adaToken, ""); got.status != 200 {
		t.Fatalf("status %d", got.status)
	}
	refused := 0
	var last answer
	for i := range 30 {
		if last = d.send(t, "GET", "/api/v1/jobs", fmt.Sprintf("ak_%d", i), ""); last.status == 429 {
			refused++
		}
	}
	if refused != 10 || last.fault(t).Code != mcp.CodeRateLimited || last.header.Get("Retry-After") != "4" {
		t.Errorf("%d of 30 were refused; the last answered %s, Retry-After %s", refused, last.body, last.header.Get("Retry-After"))
	}
	// Who has signed in here before is not locked out by a neighbour, who has not is.
	if got := d.send(t, "GET", "/api/v1/jobs", adaToken, ""); got.status != 200 {
		t.Errorf("a known token: %d", got.status)
	}
	if got := d.send(t, "GET", "/api/v1/jobs", bobToken, ""); got.status != 429 {
		t.Errorf("a new token: %d", got.status)
	}
	seconds.Store(4)
	if got := d.send(t, "GET", "/api/v1/jobs", bobToken, ""); got.status != 200 {
		t.Errorf("a new token, later: %d", got.status)
	}
}

func TestErrorsHaveTheStatusOfTheirCode(t *testing.T) {
	t.Parallel()
	for _, c := range mcp.Codes() {
		d := open(t, nil)
		d.jobs.get = failing(&hub.Error{Code: hub.Code(c.Code), Message: "m", Hint: "h", RetryAfter: 1200 * time.Millisecond})
		got := d.send(t, "GET", "/api/v1/jobs/job_1", adaToken, "")
		if got.status != c.HTTP {
			t.Errorf("%s answers %d, want %d", c.Code, got.status, c.HTTP)
		}
		var e mcp.Error
		if err := json.Unmarshal([]byte(got.body), &e); err != nil || e.Code != c.Code || e.Retryable != c.Retryable {
			t.Errorf("%s answers %s", c.Code, got.body)
		}
		if c.Code != mcp.CodeInternal && got.header.Get("Retry-After") != "2" {
			t.Errorf("%s: Retry-After is %q", c.Code, got.header.Get("Retry-After"))
		}
	}
}

var _ web.Logs = (*dispatch.Service)(nil)
