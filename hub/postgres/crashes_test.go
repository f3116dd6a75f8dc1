package postgres

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/crashtest"
)

// The connection breaks at each statement of each transaction that a use case writes: before the server has it, once it
// has run and the commit is still to come, and after the commit, of which nobody hears. Statements that travel together
// are cut apart. A read that is cut off is only asked again (TestReadWithoutAnswer): what a hub leaves that dies at one is
// what it had written before, and that is looked at here.
func TestEveryStatementMayBeTheLast(t *testing.T) {
	t.Parallel()
	u := newDatabase(t) + "&synchronous_commit=off" // the server stays up: nothing here has to wait for its disk
	healthy := openAt(t, u, Options{MaxConns: 4})
	k := newKnife(t, u)
	k.doomed = openAt(t, k.url, Options{MaxConns: 2})
	k.healthy = healthy
	crashtest.Run(t, func(*testing.T) (hub.Store, crashtest.Victim) { return healthy, k })
}

// knife stands between a store and the server, reads what the store says, and cuts its connection in a transaction.
type knife struct {
	url             string
	doomed, healthy *Store

	mu     sync.Mutex
	left   int // places until the one where it cuts; 0: it does not
	moment crashtest.Moment
	cut    bool
}

func (k *knife) Store() hub.Store { return k.doomed }

func (k *knife) Answers() bool { return true }

func (k *knife) Survivor(testing.TB) hub.Store { return k.healthy }

func (k *knife) Arm(n int, m crashtest.Moment) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left, k.moment, k.cut = n, m, false
}

func (k *knife) Disarm() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left = 0
	return k.cut
}

// strikes counts a place before or after a message, and says whether it is the one.
func (k *knife) strikes(m crashtest.Moment) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.left == 0 || m != k.moment {
		return false
	}
	k.left--
	k.cut = k.left == 0
	return k.cut
}

func newKnife(t *testing.T, target string) *knife {
	t.Helper()
	k := &knife{}
	k.url = between(t, target, k.serve)
	return k
}

func (k *knife) serve(client net.Conn, target string) {
	defer client.Close()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	a := &answers{server: server, client: client, ready: make(chan struct{}, 1)}
	var wg sync.WaitGroup
	wg.Go(func() {
		a.pass()
		client.Close() // a request to cancel ends by the server's hanging up
	})
	k.watch(client, server, a)
	server.Close()
	client.Close()
	wg.Wait()
}

// watch passes on what the store says, a transaction at a time, until one is cut off.
func (k *knife) watch(client io.Reader, server io.Writer, a *answers) {
	if m, err := message(client, 0); err != nil { // the start has no type
		return
	} else if _, err := server.Write(m); err != nil {
		return
	}
	writing := map[string]bool{} // prepared statements, by name
	for {
		messages, err := transaction(client)
		if err != nil || !k.pass(messages, writes(messages, writing), server, a) {
			return
		}
	}
}

// pass says whether all the messages came through.
func (k *knife) pass(messages [][]byte, writes bool, server io.Writer, a *answers) bool {
	for _, m := range messages {
		commits := writes && m[0] == 'S'
		if (commits || writes && m[0] == 'E') && k.strikes(crashtest.Before) {
			return false
		}
		after := commits && k.strikes(crashtest.After)
		if after {
			a.hush()
		}
		if _, err := server.Write(m); err != nil {
			return false
		}
		if after {
			<-a.ready
			return false
		}
	}
	return true
}

// transaction reads what belongs together: all up to a Sync, which commits it, or else one message that stands alone.
func transaction(client io.Reader) (messages [][]byte, err error) {
	for {
		m, err := message(client, 1)
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
		if !strings.Contains("PBDEC", string(m[0])) { // Parse, Bind, Describe, Execute, Close
			return messages, nil
		}
	}
}

var writingSQL = regexp.MustCompile(`\b(INSERT|UPDATE|DELETE)\b`)

// writes says whether messages execute a statement that writes. It learns from those which prepare one.
func writes(messages [][]byte, writing map[string]bool) (found bool) {
	for _, m := range messages {
		text := bytes.SplitN(m[5:], []byte{0}, 3)
		switch m[0] {
		case 'P': // name, SQL
			writing[string(text[0])] = writingSQL.Match(text[1])
		case 'B': // portal, name of the statement
			found = found || writing[string(text[1])]
		}
	}
	return found
}

// message reads one message with its type of so many bytes.
func message(r io.Reader, typed int) ([]byte, error) {
	head := make([]byte, typed+4)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	m := make([]byte, typed+int(binary.BigEndian.Uint32(head[typed:]))) // the length counts itself, not the type
	_, err := io.ReadFull(r, m[copy(m, head):])
	return m, err
}

// answers passes on what the server says, until it is hushed.
type answers struct {
	server io.Reader
	client io.Writer
	ready  chan struct{} // the server is done with what it had; only once it is hushed

	mu     sync.Mutex
	hushed bool
}

func (a *answers) hush() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hushed = true
}

func (a *answers) pass() {
	defer close(a.ready)
	for {
		m, err := message(a.server, 1)
		if err != nil {
			return
		}
		a.mu.Lock()
		hushed := a.hushed
		a.mu.Unlock()
		if !hushed {
			if _, err := a.client.Write(m); err != nil {
				return
			}
			continue
		}
		if m[0] == 'Z' {
			select {
			case a.ready <- struct{}{}:
			default:
			}
		}
	}
}
