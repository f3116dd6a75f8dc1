package web_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/web"
)

// A client that asks for much and reads nothing is let go.
func TestClientThatDoesNotReadIsLetGo(t *testing.T) {
	t.Parallel()
	d := open(t, func(o *web.Options) { o.WriteWithin = 50 * time.Millisecond })
	d.jobs.get = func(_ context.Context, id string) (dispatch.JobView, error) {
		return dispatch.JobView{Job: hub.Job{ID: id, Failure: &hub.Failure{Message: strings.Repeat("x", 16<<20)}}, Payload: hub.JobPayload{Spec: []byte(`{}`)}}, nil
	}
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(d.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("GET /api/v1/jobs/job_1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + adaToken + "\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	d.log.await(t, "operation=get_job") // the access log's line comes when the handler has ended
}

// deadlines notes what a handler does to its connection.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.set = append(d.set, t)
	return nil
}

// A deadline stays with its connection, so each request clears the last one's and
// sets its own when its answer begins, after whatever it was held for.
func TestDeadlineBeginsWithTheAnswer(t *testing.T) {
	t.Parallel()
	h := web.New(web.Options{Auth: fakeAuth{}, MCP: http.NotFoundHandler(), Log: slog.New(slog.DiscardHandler)})
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	before := time.Now()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/healthz", nil))
	if w.Code != 200 || len(w.set) != 2 || !w.set[0].IsZero() || w.set[1].Before(before.Add(time.Minute)) {
		t.Errorf("status %d, deadlines %v", w.Code, w.set)
	}
}
