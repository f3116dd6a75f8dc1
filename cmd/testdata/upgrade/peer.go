// Program peer is a client of two hubs that serve one database: its calls go to them in turn. The upgrade test
// builds it from its own tree and within the tree of the release before, so that there is one of each version; it may
// use only what both have.
//
//	peer TOKEN HUB HUB submit         submits a job and prints its id
//	peer TOKEN HUB HUB work           runs one job, with a log, and reports that it succeeded
//	peer TOKEN HUB HUB stop           runs one job until it is told to stop, and reports that it did
//	peer TOKEN HUB HUB cancel ID      cancels a job
//	peer TOKEN HUB HUB see ID         waits for a job's end and prints its state and the lines of its log
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/joblog"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
)

const wait = 20_000 // ms that a call is held

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if err := run(ctx, os.Args[1], os.Args[2:4], os.Args[4], os.Args[5:]); err != nil {
		fmt.Fprintln(os.Stderr, strings.Join(os.Args[4:], " ")+":", err)
		os.Exit(1)
	}
}

// peer takes turns between hubs.
type peer struct {
	hubs []*mcpclient.Client
	urls []string
	turn int
}

func (p *peer) next() *mcpclient.Client {
	p.turn++
	return p.hubs[p.turn%len(p.hubs)]
}

func run(ctx context.Context, token string, urls []string, verb string, args []string) error {
	p := &peer{urls: urls, turn: -1}
	for _, u := range urls {
		c, err := mcpclient.New(mcpclient.Config{URL: u, Token: func() string { return token }, Retry: mcpclient.NoRetry})
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }() // the process ends
		p.hubs = append(p.hubs, c)
	}
	switch verb {
	case "submit":
		return p.submit(ctx)
	case "work":
		return p.work(ctx, false)
	case "stop":
		return p.work(ctx, true)
	case "cancel":
		_, err := p.next().CancelJob(ctx, mcp.CancelJobArgs{JobID: args[0], Reason: "the test says so"})
		return err
	case "see":
		return p.see(ctx, args[0])
	}
	return fmt.Errorf("no verb %q", verb)
}

func (p *peer) submit(ctx context.Context) error {
	spec := json.RawMessage(`{"image": "busybox", "command": ["true"]}`)
	args := mcp.SubmitJobArgs{JobRequest: mcp.JobRequest{Spec: spec}, IdempotencyKey: uuid.NewString()}
	first, err := p.next().SubmitJob(ctx, args)
	if err != nil {
		return err
	}
	again, err := p.next().SubmitJob(ctx, args) // the other hub knows the key
	if err != nil {
		return err
	}
	if !again.Existing || again.Job.ID != first.Job.ID {
		return fmt.Errorf("the same request again made %s of %s", again.Job.ID, first.Job.ID)
	}
	fmt.Println(first.Job.ID)
	return nil
}

func (p *peer) work(ctx context.Context, untilStopped bool) error {
	lease := mcp.LeaseJobArgs{
		RequestID: uuid.NewString(), WaitMS: wait, Capabilities: []string{"docker", "linux", "amd64"}, OS: "linux", Arch: "amd64",
		Version: "test", Protocol: 1, Slots: 1, FreeSlots: 1,
	}
	got, err := p.next().LeaseJob(ctx, lease)
	if err != nil || got.Lease == nil {
		return fmt.Errorf("no lease (directives %v), error %w", got.Directives, err)
	}
	l := got.Lease
	same, err := p.next().LeaseJob(ctx, lease) // as if the answer had been lost
	if err != nil || same.Lease == nil || same.Lease.LeaseToken != l.LeaseToken {
		return fmt.Errorf("the same request again got %+v, error %w", same.Lease, err)
	}
	proof := mcp.LeaseProof{JobID: l.JobID, Attempt: l.Attempt, LeaseEpoch: l.LeaseEpoch, LeaseToken: l.LeaseToken}
	beat := func(wait int64) (string, error) {
		r, err := p.next().HeartbeatJob(ctx, mcp.HeartbeatJobArgs{LeaseProof: proof, Phase: "running", WaitMS: wait})
		return r.State, err
	}
	for range 2 {
		if state, err := beat(0); err != nil || state != mcp.HeartbeatHeld {
			return fmt.Errorf("a heartbeat was answered %q, error %w", state, err)
		}
	}
	var offset int64
	for _, text := range []string{"hello", "again"} { // each to another hub
		line := joblog.Append(nil, joblog.Record{Time: time.Now(), Stream: joblog.Stdout, Source: joblog.Source{Job: true}, Payload: []byte(text)})
		put, err := p.next().PutLog(ctx, strings.Replace(l.LogURL, p.urls[0], p.urls[p.turn%2], 1), offset, line)
		if err != nil {
			return fmt.Errorf("log: %w", err)
		}
		offset = put.NextOffset
	}
	result := mcp.Result{Status: "succeeded", ExitCode: new(int), LogBytes: offset}
	if untilStopped {
		fmt.Println("holding")
		for state := ""; state != mcp.HeartbeatCancel; {
			if state, err = beat(wait); err != nil || state == mcp.HeartbeatStale {
				return fmt.Errorf("a held heartbeat was answered %q, error %w", state, err)
			}
		}
		result = mcp.Result{Status: "canceled", Failure: &mcp.Failure{Class: "canceled", Message: "as told"}, LogBytes: offset}
	}
	for i := range 2 { // a repeat, through the other hub, is told so
		settled, err := p.next().SubmitJobResult(ctx, mcp.SubmitJobResultArgs{LeaseProof: proof, Result: result})
		if err != nil || !settled.Accepted || settled.Duplicate != (i == 1) {
			return fmt.Errorf("report %d was answered %+v, error %w", i+1, settled, err)
		}
	}
	return nil
}

func (p *peer) see(ctx context.Context, id string) error {
	args := mcp.WaitJobArgs{JobID: id, Cursor: "start", WaitMS: wait, Follow: "end"}
	for {
		r, err := p.next().WaitJob(ctx, args)
		if err != nil {
			return err
		}
		for _, l := range r.Lines {
			fmt.Println(l.Text)
		}
		if r.Done {
			fmt.Println(r.State)
			return nil
		}
		args.Cursor = r.NextCursor
	}
}
