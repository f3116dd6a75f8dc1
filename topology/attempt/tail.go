package attempt

import (
	"bytes"
	"strings"
	"sync"
)

// tailBytes is how much of a log's end is kept for messages.
const tailBytes = 4 << 10

// tail keeps the end of what is written to it. Its zero value is ready.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) write(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(p) > tailBytes {
		p = p[len(p)-tailBytes:]
	}
	t.data = append(t.data, p...)
	if len(t.data) > 2*tailBytes {
		t.data = append([]byte(nil), t.data[len(t.data)-tailBytes:]...)
	}
}

func (t *tail) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = nil
}

// lines returns the last n lines that are not empty, as valid UTF-8.
func (t *tail) lines(n int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	data := t.data[max(0, len(t.data)-tailBytes):]
	var out []string
	for line := range bytes.Lines(data) {
		if text := strings.TrimRight(strings.ToValidUTF8(string(line), "�"), "\r\n"); text != "" {
			out = append(out, text)
		}
	}
	return out[max(0, len(out)-n):]
}
