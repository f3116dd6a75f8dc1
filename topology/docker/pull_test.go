package docker_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/registry"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/docker"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// startRegistry runs Debian's docker-registry on loopback, which asks for a log-in
// (ci, secret), and returns its host and port.
func startRegistry(t *testing.T) string {
	t.Helper()
	program := os.Getenv("RUNNERHUB_TEST_REGISTRY")
	if program == "" {
		program = "docker-registry"
	}
	program, err := exec.LookPath(program)
	if err != nil {
		t.Fatal("docker-registry is missing; run: make test-setup (or apt-get install -y docker-registry)")
	}
	dir := t.TempDir()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	// bcrypt of "secret" at its cheapest
	const account = "ci:$2a$04$Kg.2xlYvQrHuFdFrqq5tP.HoxvFBz9DjciD2/cNGVCVGQsgcjNaXC\n"
	write(t, filepath.Join(dir, "htpasswd"), account)
	write(t, filepath.Join(dir, "config.yml"), fmt.Sprintf(`
version: 0.1
log: {level: error}
storage: {filesystem: {rootdirectory: %s}}
http: {addr: %q}
auth: {htpasswd: {realm: test, path: %s}}
`, filepath.Join(dir, "data"), address, filepath.Join(dir, "htpasswd")))
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "serve", filepath.Join(dir, "config.yml"))
	cmd.Stderr = &strings.Builder{}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); _ = cmd.Wait() })
	deadline := time.Now().Add(time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/v2/", nil)
		response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
		if err == nil {
			_ = response.Body.Close()
			return address
		}
		if time.Now().After(deadline) {
			t.Fatalf("the registry does not answer: %v; %s", err, cmd.Stderr)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// dockerConfig is a Docker configuration with one log-in.
func dockerConfig(t *testing.T, host, user, password string) string {
	t.Helper()
	dir := t.TempDir()
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	write(t, filepath.Join(dir, "config.json"), fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, host, auth))
	return dir
}

// helperConfig is one that leaves the log-in to a credential helper.
func helperConfig(t *testing.T, host string) string {
	t.Helper()
	dir := t.TempDir()
	helper := filepath.Join(dir, "docker-credential-rhtest")
	script := "#!/bin/sh\n[ \"$1\" = get ] && echo '{\"Username\":\"ci\",\"Secret\":\"secret\"}'\n"
	if err := os.WriteFile(helper, []byte(script), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	write(t, filepath.Join(dir, "config.json"), fmt.Sprintf(`{"credHelpers":{%q:"rhtest"}}`, host))
	return dir
}

// push puts an image into the registry and removes it from the engine.
func push(t *testing.T, from, ref string) {
	t.Helper()
	c := rawClient(t)
	if err := c.ImageTag(t.Context(), from, ref); err != nil {
		t.Fatal(err)
	}
	header, err := registry.EncodeAuthConfig(registry.AuthConfig{Username: "ci", Password: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	body, err := c.ImagePush(t.Context(), ref, image.PushOptions{RegistryAuth: header})
	if err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(body)
	_ = body.Close()
	if err != nil || strings.Contains(string(said), "errorDetail") {
		t.Fatalf("push: %v, %s", err, said)
	}
	removeImage(t, ref)
	forget(t, ref)
}

// forget removes an image's name from the engine.
func forget(t *testing.T, ref string) {
	t.Helper()
	if _, err := rawClient(t).ImageRemove(t.Context(), ref, image.RemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
}

// TestPullFromAPrivateRegistry is not parallel: it sets PATH for the helper.
func TestPullFromAPrivateRegistry(t *testing.T) {
	host := startRegistry(t)
	ref := host + "/team/app:1"
	push(t, importImage(t, shellFiles(t, "sh", "true")), ref)
	id := identity(t)
	spec := &topology.Spec{Image: ref, Command: []string{"/bin/busybox", "true"}}
	run := func(config string, spec *topology.Spec) (topology.Result, *topologytest.Observer) {
		obs, own := &topologytest.Observer{}, identity(t)
		return newExecutor(t, own.Hub, docker.Options{ConfigDir: config}).Run(t.Context(), topology.Work{Identity: own, Spec: spec}, obs), obs
	}
	r, _ := run(t.TempDir(), spec)
	wantResult(t, r, "failed image_pull", "no basic auth credentials", "docker login")
	r, _ = run(dockerConfig(t, host, "ci", "wrong"), spec)
	wantResult(t, r, "failed image_pull", "unauthorized", "docker login again")
	good := dockerConfig(t, host, "ci", "secret")
	r, _ = run(good, &topology.Spec{Image: host + "/team/app:2", Command: spec.Command})
	wantResult(t, r, "failed image_pull", "manifest unknown", "name and tag")
	r, _ = run(good, &topology.Spec{Image: ref, Pull: topology.PullNever, Command: spec.Command})
	wantResult(t, r, "failed image_pull", "pull: never")

	r, obs := run(helperConfig(t, host), spec)
	wantResult(t, r, "succeeded 0")
	digest := r.Images[ref]
	if !strings.HasPrefix(digest, "sha256:") {
		t.Errorf("images %v", r.Images)
	}
	if said := obs.Text(topology.System, ""); !strings.Contains(said, "Pulling image "+ref+" (not present)") || !strings.Contains(said, "Pulled image "+ref) {
		t.Errorf("said %q", said)
	}
	byDigest := host + "/team/app@" + digest
	r, _ = run(good, &topology.Spec{Image: byDigest, Command: spec.Command})
	wantResult(t, r, "succeeded 0")
	if r.Images[byDigest] != digest {
		t.Errorf("images %v", r.Images)
	}
	r, obs = run(good, &topology.Spec{Image: ref, Pull: topology.PullAlways, Command: spec.Command})
	wantResult(t, r, "succeeded 0")
	if said := obs.Text(topology.System, ""); !strings.Contains(said, "(pull: always)") {
		t.Errorf("said %q", said)
	}
	// Two at once share a pull; neither disturbs the other.
	forget(t, ref)
	e := newExecutor(t, id.Hub, docker.Options{ConfigDir: good})
	var both sync.WaitGroup
	for i := range 2 {
		both.Go(func() {
			own := id
			own.Attempt = 10 + i
			wantResult(t, e.Run(t.Context(), topology.Work{Identity: own, Spec: spec}, &topologytest.Observer{}), "succeeded 0")
		})
	}
	both.Wait()
}
