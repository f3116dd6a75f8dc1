package runnerctl_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/hub/server"
	"github.com/runnerhub/runnerhub/hub/server/servertest"
	"github.com/runnerhub/runnerhub/runnerctl"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/iostreams"
	"github.com/runnerhub/runnerhub/runnerctl/keyring"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// machine is a person's machine: folders, a keyring, an engine. Commands run on it in the test's process.
type machine struct {
	t        *testing.T
	dir      string
	env      map[string]string
	keyring  *memory
	executor topology.Executor
	tty      bool
	begun    time.Time // and the time stands still, before everything that happens
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	return &machine{t: t, dir: t.TempDir(), begun: time.Now(), env: map[string]string{}, keyring: &memory{}, executor: &topologytest.Executor{}}
}

// copy is another machine with the same files and credentials.
func (m *machine) copy() *machine {
	m.t.Helper()
	other := newMachine(m.t)
	other.env, other.keyring, other.begun = m.env, m.keyring, m.begun
	if err := os.CopyFS(other.dir, os.DirFS(m.dir)); err != nil {
		m.t.Fatal(err)
	}
	return other
}

// onHub is a machine whose person is the admin of a new hub, by environment.
func onHub(t *testing.T) (*machine, *servertest.Hub) {
	t.Helper()
	h := servertest.Start(t, quick)
	m := newMachine(t)
	m.env[cmdutil.EnvHub], m.env[cmdutil.EnvAPIKey] = h.URL, h.AdminKey(t)
	return m, h
}

// quick lets a canceled job end soon.
func quick(s *server.Settings) { s.Policy.CancelGrace = time.Second }

// ran is what a command did.
type ran struct {
	code           int
	stdout, stderr string
}

// run runs a command line to its end.
func (m *machine) run(args ...string) ran {
	m.t.Helper()
	return m.start("", nil, args...).wait()
}

// with runs a command line with a standard input.
func (m *machine) with(stdin string, args ...string) ran {
	m.t.Helper()
	return m.start(stdin, nil, args...).wait()
}

// ok runs a command that must succeed, and returns its standard output.
func (m *machine) ok(args ...string) string {
	m.t.Helper()
	r := m.run(args...)
	if r.code != 0 {
		m.t.Fatalf("runnerctl %v: exit code %d\n%s%s", args, r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

// going is a command that runs.
type going struct {
	out, err *buffer
	signal   chan struct{}
	code     int
	done     chan struct{}
}

func (g *going) wait() ran {
	<-g.done
	return ran{g.code, g.out.String(), g.err.String()}
}

func (m *machine) start(stdin string, change func(*cmdutil.Factory), args ...string) *going {
	m.t.Helper()
	g := &going{out: &buffer{}, err: &buffer{}, signal: make(chan struct{}), done: make(chan struct{})}
	f := &cmdutil.Factory{
		IO:     &iostreams.IOStreams{In: strings.NewReader(stdin), Out: g.out, Err: g.err, InTTY: m.tty, OutTTY: m.tty, ErrTTY: m.tty, Color: m.tty},
		Getenv: func(name string) string { return m.env[name] },
		Now:    func() time.Time { return m.begun }, ConfigDir: filepath.Join(m.dir, "config"), StateDir: filepath.Join(m.dir, "state"),
		HomeDir: filepath.Join(m.dir, "home"), SettingsDir: filepath.Join(m.dir, "settings"),
		Keyring:     m.keyring,
		NewExecutor: func(context.Context) (topology.Executor, error) { return m.executor, nil },
		Signals:     func() (<-chan struct{}, func()) { return g.signal, func() {} },
	}
	if change != nil {
		change(f)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(g.done)
		g.code = runnerctl.Execute(ctx, f, args)
	}()
	m.t.Cleanup(func() { cancel(); <-g.done })
	return g
}

// awaits waits until what a command wrote to standard error, and so far only that, contains text.
func (g *going) awaits(t *testing.T, text string) {
	t.Helper()
	for {
		said, more := g.err.look()
		if strings.Contains(said, text) {
			return
		}
		select {
		case <-more:
		case <-g.done:
			if s, _ := g.err.look(); !strings.Contains(s, text) {
				t.Fatalf("the command ended with %d before it said %q:\n%s", g.code, text, s)
			}
			return
		}
	}
}

// until repeats a command until its standard output contains text.
func (m *machine) until(text string, args ...string) {
	m.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(m.ok(args...), text) {
		<-tick.C
	}
}

// runner runs `runnerctl run` until the test has ended or it gets a signal.
func (m *machine) runner(flags ...string) *going {
	m.t.Helper()
	return m.start("", nil, append([]string{"--profile", "default", "run"}, flags...)...) // a flag before it is allowed
}

// buffer is a writer that tells when something was written.
type buffer struct {
	mu   sync.Mutex
	b    bytes.Buffer
	more chan struct{}
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.more != nil {
		close(b.more)
		b.more = nil
	}
	return b.b.Write(p)
}

func (b *buffer) look() (string, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.more == nil {
		b.more = make(chan struct{})
	}
	return b.b.String(), b.more
}

func (b *buffer) String() string { s, _ := b.look(); return s }

// memory is a keyring.
type memory struct {
	mu      sync.Mutex
	secrets map[string]string
	gets    int // of anything but probes
	broken  error
}

func (*memory) Kind() keyring.Kind { return keyring.System }
func (*memory) Where() string      { return "the test's keyring" }

func (k *memory) Get(name string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !strings.HasPrefix(name, "probe") {
		k.gets++
	}
	secret, ok := k.secrets[name]
	if k.broken == nil && !ok {
		return "", keyring.ErrNotFound
	}
	return secret, k.broken
}

func (k *memory) Set(name, secret string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.broken != nil {
		return k.broken
	}
	if k.secrets == nil {
		k.secrets = map[string]string{}
	}
	k.secrets[name] = secret
	return nil
}

func (k *memory) Delete(name string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.secrets, name)
	return k.broken
}

// matchesGolden compares text with a file in testdata/output, after what differs between runs has been replaced.
func matchesGolden(t *testing.T, name, got string, h *servertest.Hub) {
	t.Helper()
	if h != nil {
		got = strings.ReplaceAll(got, h.URL, "http://HUB")
	}
	for _, r := range []struct{ what, by string }{
		{`(job_|rnr-|usr_|ws_|key_|hub_)[0-9a-f]{8}-[0-9a-f-]{27}`, "${1}ID"},
		{`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?`, "TIME"},
		{`"(duration_ms|wall_ms|cpu_ms|memory_peak_bytes|log_bytes)": \d+`, `"$1": N`},
		{`\b\d+(\.\d+)?(ms|s)\b`, "TOOK"},
		{`"server_version": "[^"]*"`, `"server_version": "V"`},
	} {
		got = regexp.MustCompile(r.what).ReplaceAllString(got, r.by)
	}
	golden := filepath.Join("testdata", "output", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v; write it with: go test ./runnerctl -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); write it again with: go test ./runnerctl -update\n%s", golden, diff)
	}
}

// decode reads what a command printed with --json.
func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&v); err != nil && err != io.EOF {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return v
}

// write makes a file on the machine and returns its path.
func (m *machine) write(name, text string) string {
	m.t.Helper()
	path := filepath.Join(m.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
	return path
}
