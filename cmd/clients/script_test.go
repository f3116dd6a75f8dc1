//go:build clients

package clients_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// script is a client in a process of Node's, see testdata/node/agent.mjs.
type script struct {
	cmd    *exec.Cmd
	stderr *transcript

	mu    sync.Mutex
	in    io.WriteCloser
	last  int
	calls map[int]chan reply // those that wait for their answer
}

type reply struct {
	ID       int             `json:"id"`
	Result   json.RawMessage `json:"result"`
	Error    string          `json:"error"`
	Revision string          `json:"revision"`
}

// connectScript is a client of a script's, started with the hub's address and some words more.
func connectScript(name string, words ...string) func(t *testing.T, url, key, revision string) client {
	return func(t *testing.T, url, key, revision string) client {
		t.Helper()
		programs := node(t)
		s := &script{cmd: programs.command(t, "node", append([]string{name, url}, words...)...), stderr: &transcript{done: true}, calls: map[int]chan reply{}}
		s.cmd.Env, s.cmd.Stderr = append(s.cmd.Env, "RUNNERHUB_KEY="+key), s.stderr
		in, err := s.cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		s.in = in
		out, err := s.cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 4<<20)
		var first reply
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &first) != nil || first.Revision != revision {
			t.Fatalf("%s and hub speak %q, want %s: %s", name, first.Revision, revision, s.stderr)
		}
		go s.read(lines)
		return s
	}
}

// read hands out answers until the script ends.
func (s *script) read(lines *bufio.Scanner) {
	for lines.Scan() {
		var r reply
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			r.Error = err.Error() + ": " + lines.Text()
		}
		s.mu.Lock()
		waits := s.calls[r.ID]
		delete(s.calls, r.ID)
		s.mu.Unlock()
		if waits != nil {
			waits <- r
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, waits := range s.calls {
		delete(s.calls, id)
		waits <- reply{Error: "the client has ended"}
	}
}

// order has the client do something.
func (s *script) order(ctx context.Context, what map[string]any) (json.RawMessage, error) {
	answered := make(chan reply, 1)
	s.mu.Lock()
	s.last++
	id := s.last
	s.calls[id] = answered
	s.mu.Unlock()
	what["id"] = id
	if err := s.write(what); err != nil {
		return nil, err
	}
	var r reply
	select {
	case r = <-answered:
	case <-ctx.Done():
		if err := s.write(map[string]any{"id": id, "op": "cancel"}); err != nil {
			return nil, err
		}
		r = <-answered
	}
	if r.Error != "" {
		return nil, errors.New(r.Error)
	}
	return r.Result, nil
}

func (s *script) write(order map[string]any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return json.NewEncoder(s.in).Encode(order)
}

func (s *script) tools(ctx context.Context) (names []string, err error) {
	raw, err := s.order(ctx, map[string]any{"op": "tools"})
	if err != nil {
		return nil, err
	}
	return names, json.Unmarshal(raw, &names)
}

func (s *script) call(ctx context.Context, tool string, args map[string]any, limit time.Duration) (a answer, err error) {
	raw, err := s.order(ctx, map[string]any{"op": "call", "tool": tool, "args": args, "timeout_ms": limit.Milliseconds()})
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(raw, &a)
}

func (s *script) close() error {
	err := errors.Join(s.in.Close(), s.cmd.Wait())
	if err != nil {
		err = errors.New(err.Error() + ": " + strings.TrimSpace(s.stderr.String()))
	}
	return err
}
