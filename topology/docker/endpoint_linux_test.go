package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// fakeHost is a home and a set of sockets, all in a directory of the test's.
type fakeHost struct {
	host
	t   *testing.T
	env map[string]string
}

func newFakeHost(t *testing.T) *fakeHost {
	t.Helper()
	dir, err := os.MkdirTemp("", "rh") // short: a socket's path may have some 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	f := &fakeHost{t: t, env: map[string]string{}}
	f.host = host{
		getenv: func(key string) string { return f.env[key] },
		home:   filepath.Join(dir, "home"), runtimeDir: filepath.Join(dir, "run"),
		system: []place{{unixIn(dir, "docker.sock"), "the default socket"}},
		user: func(h host) []place {
			places := userSockets(h)
			for i, p := range places { // those outside of the home and the runtime directory
				if strings.HasPrefix(p.host, "unix:///run/podman") {
					places[i].host = unixIn(dir, "podman.sock")
				}
			}
			return places
		},
	}
	return f
}

// engineAt serves pings on a socket, as an engine of that API version does.
func (f *fakeHost) engineAt(host, api string) {
	f.t.Helper()
	path := strings.TrimPrefix(host, "unix://")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		f.t.Fatal(err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		f.t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Api-Version", api)
		w.Header().Set("Ostype", "linux")
	})}
	served := make(chan struct{})
	go func() { _ = server.Serve(listener); close(served) }()
	f.t.Cleanup(func() { _ = server.Close(); <-served })
}

// writeContext adds a Docker context, and says whether to work with it.
func (f *fakeHost) writeContext(name, host string, current bool) {
	f.t.Helper()
	digest := sha256.Sum256([]byte(name))
	f.write(filepath.Join("contexts", "meta", hex.EncodeToString(digest[:]), "meta.json"),
		fmt.Sprintf(`{"Name":%q,"Metadata":{},"Endpoints":{"docker":{"Host":%q,"SkipTLSVerify":false}}}`, name, host))
	if current {
		f.write("config.json", fmt.Sprintf(`{"auths":{},"currentContext":%q}`, name))
	}
}

func (f *fakeHost) write(name, text string) {
	f.t.Helper()
	path := filepath.Join(f.configDir(), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// find returns the endpoint that New would use, as "source".
func (f *fakeHost) find(explicit string) (string, error) {
	engine, err := connectFrom(f.t.Context(), f.host, Options{Host: explicit})
	if err != nil {
		return "", err
	}
	f.t.Cleanup(func() { _ = engine.Close() })
	return engine.endpoint.Source, nil
}

func TestFindsAnEngine(t *testing.T) {
	t.Parallel()
	at := func(dir, name string) string { return unixIn(dir, name) }
	tests := map[string]struct {
		prepare  func(f *fakeHost) (explicit string)
		source   string
		mistaken string // an error instead
	}{
		"explicit": {func(f *fakeHost) string {
			f.env["DOCKER_HOST"] = at(f.home, "no.sock")
			f.engineAt(at(f.home, "x.sock"), "1.41")
			return at(f.home, "x.sock")
		}, "given explicitly", ""},
		"DOCKER_HOST before a context": {func(f *fakeHost) string {
			f.writeContext("c", at(f.home, "no.sock"), true)
			f.env["DOCKER_HOST"] = at(f.home, "x.sock")
			f.engineAt(at(f.home, "x.sock"), "1.41")
			return ""
		}, "DOCKER_HOST", ""},
		"DOCKER_CONTEXT before the active one": {func(f *fakeHost) string {
			f.writeContext("c", at(f.home, "no.sock"), true)
			f.writeContext("d", at(f.home, "x.sock"), false)
			f.env["DOCKER_CONTEXT"] = "d"
			f.engineAt(at(f.home, "x.sock"), "1.45")
			return ""
		}, "DOCKER_CONTEXT d", ""},
		"the active context": {func(f *fakeHost) string {
			f.engineAt(f.system[0].host, "1.41")
			f.engineAt(at(f.home, "x.sock"), "1.41")
			f.writeContext("c", at(f.home, "x.sock"), true)
			return ""
		}, "the active Docker context c", ""},
		"another DOCKER_CONFIG": {func(f *fakeHost) string {
			f.env["DOCKER_CONFIG"] = filepath.Join(f.home, "elsewhere")
			f.engineAt(at(f.home, "x.sock"), "1.41")
			f.writeContext("c", at(f.home, "x.sock"), true)
			return ""
		}, "the active Docker context c", ""},
		"the context default": {func(f *fakeHost) string {
			f.write("config.json", `{"currentContext":"default"}`)
			f.engineAt(f.system[0].host, "1.41")
			return ""
		}, "the default socket", ""},
		"the default socket first": {func(f *fakeHost) string {
			f.engineAt(f.system[0].host, "1.41")
			f.engineAt(at(f.runtimeDir, "docker.sock"), "1.41")
			return ""
		}, "the default socket", ""},
		"rootless": {func(f *fakeHost) string {
			f.engineAt(at(f.runtimeDir, "docker.sock"), "1.41")
			return ""
		}, "rootless Docker", ""},
		"Desktop on Linux": {func(f *fakeHost) string {
			f.engineAt(unixIn(f.home, ".docker", "desktop", "docker.sock"), "1.41")
			return ""
		}, "Docker Desktop", ""},
		"rootless Podman": {func(f *fakeHost) string {
			f.engineAt(unixIn(f.runtimeDir, "podman", "podman.sock"), "1.41")
			return ""
		}, "rootless Podman", ""},
		"Podman": {func(f *fakeHost) string {
			f.engineAt(f.user(f.host)[4].host, "1.41")
			return ""
		}, "Podman", ""},
		"a chosen one that is silent": {func(f *fakeHost) string {
			f.engineAt(f.system[0].host, "1.41")
			f.env["DOCKER_HOST"] = at(f.home, "no.sock")
			return ""
		}, "", "no.sock (DOCKER_HOST)"},
		"a context that is not there": {func(f *fakeHost) string {
			f.write("config.json", `{"currentContext":"gone"}`)
			return ""
		}, "", `the active Docker context is "gone", but there is no such context`},
		"too old": {func(f *fakeHost) string {
			f.engineAt(f.system[0].host, "1.40")
			return ""
		}, "", "speaks API 1.40, but 1.41 (Docker 20.10) is the oldest supported"},
		"none":     {func(*fakeHost) string { return "" }, "", "none answers at unix://"},
		"nonsense": {func(*fakeHost) string { return "nonsense" }, "", "unable to parse docker host"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeHost(t)
			source, err := f.find(tt.prepare(f))
			if tt.mistaken == "" {
				if err != nil || source != tt.source {
					t.Errorf("found %q, %v; want %q", source, err, tt.source)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.mistaken) || topology.KindOf(err) != topology.KindUnavailable {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestEndpointWithTLS(t *testing.T) {
	t.Parallel()
	f := newFakeHost(t)
	f.env["DOCKER_HOST"], f.env["DOCKER_TLS_VERIFY"], f.env["DOCKER_CERT_PATH"] = "tcp://127.0.0.1:2376", "1", "/certs"
	endpoints, err := f.endpoints("")
	if err != nil || endpoints[0].tls != (tlsFiles{ca: "/certs/ca.pem", cert: "/certs/cert.pem", key: "/certs/key.pem"}) {
		t.Errorf("%+v, %v", endpoints, err)
	}
}

// TestSilentEngineIsGivenUp connects to a socket that takes connections and never answers.
func TestSilentEngineIsGivenUp(t *testing.T) {
	t.Parallel()
	f := newFakeHost(t)
	if err := os.MkdirAll(f.home, 0o700); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(f.home, "x.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = connectFrom(ctx, f.host, Options{Host: unixIn(f.home, "x.sock")})
	if topology.KindOf(err) != topology.KindUnavailable {
		t.Error(err)
	}
	var engine *topology.EngineError
	if !errors.As(err, &engine) || engine.Hint == "" {
		t.Errorf("no hint: %v", err)
	}
}
