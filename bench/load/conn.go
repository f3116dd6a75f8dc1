// Package load puts work on a hub the way many producers and runners do, at as little cost as can be: on a machine
// that is shared with the hub, what the client burns the hub lacks.
package load

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Conn is one kept-alive HTTP/1.1 connection on which tools are called, one at a time. It is made when it is first needed, and
// anew when it has been idle, as a hub may hang up then.
type Conn struct {
	addr string
	era  Era
	head []byte // of each request, up to its length
	out  []byte
	in   *bufio.Reader
	body []byte
	used time.Time

	mu     sync.Mutex // guards what follows
	conn   net.Conn
	closed bool
}

// dialWithin and answerWithin bound what a stuck hub costs; a held call takes up to 25 s. A hub waits for longer than idleAtMost.
const (
	dialWithin   = 5 * time.Second
	answerWithin = 60 * time.Second
	idleAtMost   = 5 * time.Second
)

// Era is a revision of MCP that is spoken.
type Era string

// The eras of MCP: with a handshake, which may be left out, and with all that a call needs in each call.
const (
	Legacy Era = "2025-11-25"
	Modern Era = "2026-07-28"
)

// NewConn is for a hub's address, as a caller with a token, in the era that costs less.
func NewConn(addr, token string) *Conn { return NewConnIn(Legacy, addr, token) }

// NewConnIn is for an era of one's choice.
func NewConnIn(era Era, addr, token string) *Conn {
	head := "POST /mcp HTTP/1.1\r\nHost: " + addr + "\r\nAuthorization: Bearer " + token +
		"\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream" +
		"\r\nMcp-Protocol-Version: " + string(era)
	return &Conn{addr: addr, era: era, head: []byte(head)}
}

// Request is a call of a tool as it goes over the wire, with arguments in JSON.
func (c *Conn) Request(tool string, args []byte) []byte {
	const before, between = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`, `","arguments":`
	after := `}}`
	c.out = append(c.out[:0], c.head...)
	if c.era == Modern {
		c.out = append(append(c.out, "\r\nMcp-Method: tools/call\r\nMcp-Name: "...), tool...)
		after = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"load","version":"1"},` +
			`"io.modelcontextprotocol/clientCapabilities":{}}}}`
	}
	c.out = append(c.out, "\r\nContent-Length: "...)
	c.out = strconv.AppendInt(c.out, int64(len(before)+len(tool)+len(between)+len(args)+len(after)), 10)
	c.out = append(c.out, "\r\n\r\n"+before...)
	c.out = append(append(c.out, tool...), between...)
	c.out = append(append(c.out, args...), after...)
	return c.out
}

// connected returns the connection, ready for a call.
func (c *Conn) connected() (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, net.ErrClosed
	}
	if c.conn != nil && time.Since(c.used) < idleAtMost {
		return c.conn, nil
	}
	if c.conn != nil {
		_ = c.conn.Close() // the new one is what counts
	}
	var err error
	c.conn, err = (&net.Dialer{Timeout: dialWithin}).DialContext(context.Background(), "tcp", c.addr)
	if err != nil {
		c.conn = nil
		return nil, err
	}
	c.in = bufio.NewReaderSize(c.conn, 8<<10)
	return c.conn, nil
}

// Close ends the connection, and with it a call under way.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.conn == nil {
		return nil
	}
	return c.conn.Close()
}

// Call calls a tool with arguments in JSON and returns the answer's body, which is good until the next call.
func (c *Conn) Call(tool string, args []byte) ([]byte, error) {
	request := c.Request(tool, args)
	conn, err := c.connected()
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(answerWithin)); err != nil {
		return nil, err
	}
	if _, err := conn.Write(request); err != nil {
		return nil, err
	}
	if err := c.read(); err != nil {
		return nil, fmt.Errorf("%s: %w", tool, err)
	}
	c.used = time.Now()
	if bytes.Contains(c.body, []byte(`"isError":true`)) || bytes.Contains(c.body, []byte(`"error":{`)) {
		return nil, fmt.Errorf("%s is refused: %s", tool, c.body)
	}
	return c.body, nil
}

// read reads one answer into c.body.
func (c *Conn) read() error {
	status, err := c.line()
	if err != nil {
		return err
	}
	failed := !strings.HasPrefix(status, "HTTP/1.1 200")
	length, chunked := 0, false
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		if line == "" {
			break
		}
		name, value, _ := strings.Cut(line, ": ")
		switch strings.ToLower(name) {
		case "content-length":
			if length, err = strconv.Atoi(value); err != nil {
				return err
			}
		case "transfer-encoding":
			chunked = value == "chunked"
		}
	}
	c.body = c.body[:0]
	if chunked {
		err = c.readChunks()
	} else {
		err = c.readBytes(length)
	}
	if err == nil && failed {
		err = fmt.Errorf("%s: %s", status, c.body)
	}
	return err
}

func (c *Conn) line() (string, error) {
	line, err := c.in.ReadSlice('\n')
	return string(bytes.TrimRight(line, "\r\n")), err
}

// readBytes appends n bytes to the body.
func (c *Conn) readBytes(n int) error {
	at := len(c.body)
	c.body = append(c.body, make([]byte, n)...)
	_, err := io.ReadFull(c.in, c.body[at:])
	return err
}

func (c *Conn) readChunks() error {
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(line, 16, 32)
		if err != nil {
			return err
		}
		if err := c.readBytes(int(n)); err != nil {
			return err
		}
		if _, err := c.line(); err != nil { // the chunk's end, or the empty trailer's
			return err
		}
		if n == 0 {
			return nil
		}
	}
}
