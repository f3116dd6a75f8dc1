package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// contextMeta is the part of a Docker context's meta.json that names an engine.
type contextMeta struct {
	Endpoints map[string]struct {
		Host          string
		SkipTLSVerify bool
	}
}

// activeContext returns the endpoint of the Docker context that the user works
// with, or nil for the context "default", which names none.
func (h host) activeContext() (*Endpoint, error) {
	name, source := h.getenv("DOCKER_CONTEXT"), "DOCKER_CONTEXT"
	if name == "" {
		var config struct{ CurrentContext string }
		if err := readJSON(filepath.Join(h.configDir(), "config.json"), &config); err != nil {
			return nil, err
		}
		name, source = config.CurrentContext, "the active Docker context"
	}
	if name == "" || name == "default" {
		return nil, nil
	}
	// The Docker command keeps a context in directories called by its name's digest.
	digest := sha256.Sum256([]byte(name))
	dir := hex.EncodeToString(digest[:])
	var meta contextMeta
	if err := readJSON(filepath.Join(h.configDir(), "contexts", "meta", dir, "meta.json"), &meta); err != nil {
		return nil, err
	}
	engine := meta.Endpoints["docker"]
	if engine.Host == "" {
		return nil, fmt.Errorf("%s is %q, but there is no such context with a Docker endpoint; see: docker context ls", source, name)
	}
	e := &Endpoint{Host: engine.Host, Source: source + " " + name, Chosen: true}
	tlsDir := filepath.Join(h.configDir(), "contexts", "tls", dir, "docker")
	e.tls = tlsFiles{
		ca: ifExists(filepath.Join(tlsDir, "ca.pem")), cert: ifExists(filepath.Join(tlsDir, "cert.pem")),
		key: ifExists(filepath.Join(tlsDir, "key.pem")), skipVerify: engine.SkipTLSVerify,
	}
	return e, nil
}

// readJSON reads a JSON file into v, and leaves v alone when there is none.
func readJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func ifExists(path string) string {
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}
