package mcpserver_test

import (
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// modern is the revision that has tasks.
const modern = "2026-07-28"

// taking announces the tasks extension with a request.
func taking(params map[string]any) map[string]any {
	params["_meta"] = map[string]any{"io.modelcontextprotocol/clientCapabilities": map[string]any{
		"extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}},
	}}
	return params
}

// taskAnswer is what a request of a task's may answer: a task, an acknowledgement, an error or the result of a tool.
type taskAnswer struct {
	ResultType     string    `json:"resultType"`
	TaskID         string    `json:"taskId"`
	Status         string    `json:"status"`
	StatusMessage  string    `json:"statusMessage"`
	CreatedAt      time.Time `json:"createdAt"`
	LastUpdatedAt  time.Time `json:"lastUpdatedAt"`
	TTLMS          int64     `json:"ttlMs"`
	PollIntervalMS int64     `json:"pollIntervalMs"`
	Content        []any     `json:"content"`
	Result         *struct {
		IsError           bool   `json:"isError"`
		ResultType        string `json:"resultType"`
		Content           []struct{ Text string }
		StructuredContent struct {
			Job struct{ ID, State string }
		} `json:"structuredContent"`
	} `json:"result"`
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    struct {
		RequiredCapabilities struct {
			Extensions map[string]any `json:"extensions"`
		} `json:"requiredCapabilities"`
	} `json:"data"`
}

// task sends one request about a task.
func (w *town) task(token, method, id string) (a taskAnswer, status int) {
	w.Helper()
	params := map[string]any{"taskId": id}
	if method == "tasks/update" {
		params["inputResponses"] = map[string]any{"never": map[string]any{"action": "accept"}}
	}
	status = w.ask(token, modern, method, taking(params), &a)
	return a, status
}

// submitTask has submit_job answer a task.
func (w *town) submitTask(arguments map[string]any) taskAnswer {
	w.Helper()
	arguments["spec"] = twoSteps
	var a taskAnswer
	w.ask(adaToken, modern, "tools/call", taking(map[string]any{"name": "submit_job", "arguments": arguments}), &a)
	if a.ResultType != "task" || !strings.HasPrefix(a.TaskID, "job_") || a.Status != "working" || a.CreatedAt.IsZero() || a.PollIntervalMS != 1000 || a.Content != nil {
		w.Fatalf("submit_job answers %+v", a)
	}
	if ttl := time.Duration(a.TTLMS) * time.Millisecond; ttl < hub.DefaultPolicy().Retention {
		w.Fatalf("the task is kept for %s", ttl)
	}
	return a
}

func TestTaskOfAJob(t *testing.T) {
	t.Parallel()
	for class, want := range map[hub.Class]string{"": "succeeded", hub.ClassScript: "failed"} {
		w := newTown(t)
		id := w.submitTask(map[string]any{"wait_ms": 10}).TaskID
		a := w.take()
		a.step("running", "test")
		got, _ := w.task(adaToken, "tasks/get", id)
		if got.ResultType != "complete" || got.TaskID != id || got.Status != "working" || got.Result != nil || !strings.Contains(got.StatusMessage, "running") {
			t.Errorf("while it runs it is %+v", got)
		}
		if ack, status := w.task(adaToken, "tasks/update", id); status != 200 || ack.ResultType != "complete" || ack.TaskID != "" {
			t.Errorf("an update answers %d %+v", status, ack)
		}
		a.end(class)
		_, w.url = w.hub() // another hub over the store, as after a restart
		got, _ = w.task(adaToken, "tasks/get", id)
		r := got.Result
		if got.Status != "completed" || r == nil || r.IsError || r.ResultType != "complete" || r.StructuredContent.Job.ID != id || r.StructuredContent.Job.State != want || !strings.Contains(r.Content[0].Text, want) {
			t.Errorf("at the end it is %+v with %+v", got, r)
		}
		if !got.LastUpdatedAt.After(got.CreatedAt) {
			t.Errorf("it was made at %s and changed at %s", got.CreatedAt, got.LastUpdatedAt)
		}
		if ack, status := w.task(adaToken, "tasks/cancel", id); status != 200 || ack.ResultType != "complete" {
			t.Errorf("to cancel what has ended answers %d %+v", status, ack)
		}
		if again, _ := w.task(adaToken, "tasks/get", id); again.Status != "completed" {
			t.Errorf("then it is %+v", again)
		}
	}
}

func TestTaskIsCanceled(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	id := w.submitTask(map[string]any{}).TaskID
	if ack, status := w.task(adaToken, "tasks/cancel", id); status != 200 || ack.ResultType != "complete" || ack.TaskID != "" || ack.Status != "" {
		t.Errorf("the cancel answers %d %+v", status, ack)
	}
	got, _ := w.task(adaToken, "tasks/get", id)
	if got.Status != "cancelled" || got.Result != nil {
		t.Errorf("then it is %+v", got)
	}
}

// What has ended by the time of the answer needs no task, and neither does a call that failed.
func TestTaskOnlyWhereThereIsSomethingToWaitFor(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	done := make(chan taskAnswer, 1)
	go func() {
		var a taskAnswer
		w.ask(adaToken, modern, "tools/call", taking(map[string]any{"name": "submit_job", "arguments": map[string]any{"spec": twoSteps, "wait_ms": 25_000}}), &a)
		done <- a
	}()
	for { // until it is there
		list, err := w.store.ListJobs(t.Context(), hub.JobFilter{Owners: []hub.Owner{hub.UserOwner(w.who[adaToken].User.ID)}, Limit: 1})
		w.must(err)
		if len(list) == 1 {
			break
		}
	}
	w.take().end("")
	if a := <-done; a.ResultType != "complete" || a.TaskID != "" || a.Content == nil {
		t.Errorf("a job that has ended answers %+v", a)
	}
	var bad taskAnswer
	w.ask(adaToken, modern, "tools/call", taking(map[string]any{"name": "submit_job", "arguments": map[string]any{"spec": "steps: []"}}), &bad)
	if bad.ResultType != "complete" || bad.TaskID != "" || bad.Content == nil {
		t.Errorf("a bad spec answers %+v", bad)
	}
	var plain taskAnswer // its client does not take tasks
	w.ask(adaToken, modern, "tools/call", map[string]any{"name": "submit_job", "arguments": map[string]any{"spec": twoSteps}}, &plain)
	if plain.ResultType != "complete" || plain.TaskID != "" || plain.Content == nil {
		t.Errorf("without the extension submit_job answers %+v", plain)
	}
}

func TestTasksOfOthersAreNotFound(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	id := w.submitTask(map[string]any{}).TaskID
	all := w.url
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		for _, c := range []struct{ token, path, id string }{
			{bobToken, "", id},
			{machineToken, "", id},
			{adaToken, "", "job_none"},
			{adaToken, "", "\u00e9"},
			{adaToken, "/x/artifacts", id},
		} {
			w.url = all + c.path
			if a, status := w.task(c.token, method, c.id); status != 400 || a.Code != -32602 || strings.Contains(a.Message, "nightly") {
				t.Errorf("%s by %s at %q answers %d %+v", method, c.token, c.path, status, a)
			}
		}
		w.url = all
		var a taskAnswer
		if status := w.ask(adaToken, modern, method, map[string]any{"taskId": id}, &a); status != 400 || a.Code != -32021 || a.Data.RequiredCapabilities.Extensions["io.modelcontextprotocol/tasks"] == nil {
			t.Errorf("%s without the extension answers %d %+v", method, status, a)
		}
		a = taskAnswer{} // the header is that of name, which ask takes first
		if status := w.ask(adaToken, modern, method, taking(map[string]any{"taskId": id, "name": "other"}), &a); status != 400 || a.Code != -32020 {
			t.Errorf("%s with another name in its header answers %d %+v", method, status, a)
		}
		a = taskAnswer{}
		if w.ask(adaToken, "2025-11-25", method, taking(map[string]any{"taskId": id}), &a); a.Code != -32601 {
			t.Errorf("%s before there were tasks answers %+v", method, a)
		}
	}
	w.url = all + "/readonly"
	if a, status := w.task(adaToken, "tasks/cancel", id); status != 400 || a.Code != -32602 {
		t.Errorf("where nothing is changed a cancel answers %d %+v", status, a)
	}
	w.url = all
	if a, _ := w.task(adaToken, "tasks/get", id); a.Status != "working" {
		t.Errorf("after all that it is %+v", a)
	}
	for _, gone := range []string{"tasks/list", "tasks/result"} {
		if a, status := w.task(adaToken, gone, id); status != 404 || a.Code != -32601 {
			t.Errorf("%s answers %d %+v", gone, status, a)
		}
	}
}

func TestTasksAreAnnounced(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	var found struct {
		Capabilities struct {
			Extensions map[string]any `json:"extensions"`
			Tasks      any            `json:"tasks"`
		} `json:"capabilities"`
	}
	w.ask(adaToken, modern, "server/discover", map[string]any{}, &found)
	if found.Capabilities.Extensions["io.modelcontextprotocol/tasks"] == nil || found.Capabilities.Tasks != nil {
		t.Errorf("%+v", found)
	}
}
