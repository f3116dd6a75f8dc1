package docker

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Endpoint is where an engine may listen.
type Endpoint struct {
	Host   string // unix:///path, npipe:////./pipe/name, tcp://host:port, ssh://user@host
	Source string // how it was found, for people
	// Chosen says that a person named it. No other is tried then, since a job must
	// not end up on an engine that nobody meant.
	Chosen bool

	tls tlsFiles
}

// tlsFiles are the paths of PEM files; all empty is no TLS.
type tlsFiles struct {
	ca, cert, key string
	skipVerify    bool
}

func (t tlsFiles) enabled() bool { return t.ca != "" || t.cert != "" || t.skipVerify }

// place is a well-known endpoint.
type place struct{ host, source string }

// host is the machine and the user, as far as finding an engine depends on them.
type host struct {
	getenv     func(string) string
	home       string
	runtimeDir string // of this user; empty where there is none
	system     []place
	user       func(host) []place
}

// thisHost describes the real machine.
func thisHost() host {
	h := host{getenv: os.Getenv, system: systemSockets(), user: userSockets}
	h.home, _ = os.UserHomeDir()
	h.runtimeDir = os.Getenv("XDG_RUNTIME_DIR")
	if h.runtimeDir == "" && os.Getuid() > 0 {
		// A service or a cron job of the user's lacks the variable; the directory is there.
		h.runtimeDir = filepath.Join("/run/user", strconv.Itoa(os.Getuid()))
	}
	return h
}

// endpoints lists where to look for an engine, in order. It ends at one that a
// person chose: explicit, then DOCKER_HOST, then the active Docker context.
func (h host) endpoints(explicit string) ([]Endpoint, error) {
	if explicit != "" {
		return []Endpoint{{Host: explicit, Source: "given explicitly", Chosen: true, tls: h.envTLS()}}, nil
	}
	if env := h.getenv("DOCKER_HOST"); env != "" {
		return []Endpoint{{Host: env, Source: "DOCKER_HOST", Chosen: true, tls: h.envTLS()}}, nil
	}
	chosen, err := h.activeContext()
	if err != nil {
		return nil, err
	}
	if chosen != nil {
		return []Endpoint{*chosen}, nil
	}
	var found []Endpoint
	for _, p := range append(append([]place(nil), h.system...), h.user(h)...) {
		if p.host != "" {
			found = append(found, Endpoint{Host: p.host, Source: p.source})
		}
	}
	return found, nil
}

// envTLS reads DOCKER_CERT_PATH and DOCKER_TLS_VERIFY as the docker command does.
func (h host) envTLS() tlsFiles {
	dir := h.getenv("DOCKER_CERT_PATH")
	verify := h.getenv("DOCKER_TLS_VERIFY") != ""
	if dir == "" {
		if !verify {
			return tlsFiles{}
		}
		dir = h.configDir()
	}
	return tlsFiles{
		ca: filepath.Join(dir, "ca.pem"), cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem"),
		skipVerify: !verify,
	}
}

// configDir is the directory of the Docker command's configuration.
func (h host) configDir() string {
	if dir := h.getenv("DOCKER_CONFIG"); dir != "" {
		return dir
	}
	return filepath.Join(h.home, ".docker")
}

// String says where the endpoint is and how it was found.
func (e Endpoint) String() string { return fmt.Sprintf("%s (%s)", e.Host, e.Source) }

// unixIn returns the URL of a socket under dir, or "" when there is no such directory.
func unixIn(dir string, elem ...string) string {
	if dir == "" {
		return ""
	}
	return "unix://" + filepath.Join(append([]string{dir}, elem...)...)
}
