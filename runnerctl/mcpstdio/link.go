package mcpstdio

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
)

// link is the way to the hub. It is laid at the first message, and anew when the hub refuses the key and another one has
// been kept since: people sign in again while their client runs.
type link struct {
	open  func() (hub, key string, err error)
	retry mcpclient.Retry

	mu   sync.Mutex
	now  *way
	past []*way
}

// way is one hub with one key.
type way struct {
	hub, key string
	client   *mcpclient.Client
}

// relay is mcpclient's, by the key that counts now.
func (l *link) relay(ctx context.Context, m mcpclient.Message, each func(json.RawMessage)) error {
	w, err := l.way(nil)
	if err != nil {
		return err
	}
	err = w.client.Relay(ctx, m, each)
	if !refused(err) {
		return err
	}
	fresh, openErr := l.way(w)
	switch {
	case openErr != nil:
		return openErr
	case fresh != w: // the hub has done nothing for the old key, so nothing is done twice
		err = fresh.client.Relay(ctx, m, each)
	}
	if refused(err) {
		return signInAgain(err)
	}
	return err
}

// way returns the one in use, unless that is the one which the hub has refused and another can be had.
func (l *link) way(refused *way) (*way, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now != nil && l.now != refused {
		return l.now, nil
	}
	hub, key, err := l.open()
	if err != nil {
		return nil, err
	}
	if l.now != nil {
		if l.now.hub == hub && l.now.key == key {
			return l.now, nil
		}
		l.past = append(l.past, l.now) // calls may be under way on it
		l.now = nil
	}
	client, err := mcpclient.New(mcpclient.Config{URL: hub, Token: func() string { return key }, Retry: l.retry})
	if err != nil {
		return nil, err
	}
	l.now = &way{hub, key, client}
	return l.now, nil
}

// close frees the connections; nothing is under way any more.
func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range append(l.past, l.now) {
		if w != nil {
			_ = w.client.Close() // there is nobody to tell
		}
	}
}

func refused(err error) bool {
	e, ok := errors.AsType[*mcp.Error](err)
	return ok && e.Code == mcp.CodeUnauthenticated
}

// signInAgain says the hub's refusal in words for whoever has no header to send.
func signInAgain(err error) error {
	e, _ := errors.AsType[*mcp.Error](err)
	return &mcp.Error{
		Code: mcp.CodeUnauthenticated, Message: "the hub refuses the API key: " + e.Message,
		Hint: "sign in again with `runnerctl login`; the next call uses the new key",
	}
}
