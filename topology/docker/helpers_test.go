package docker_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// rawClient is the bare client, to prepare and to inspect what the tests need.
func rawClient(t testing.TB) *client.Client {
	t.Helper()
	c, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// tarball makes an archive; a value that begins with "->" is a link's target.
func tarball(t testing.TB, files map[string][]byte) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for name, data := range files {
		header := &tar.Header{Name: name, Mode: 0o755, Size: int64(len(data)), Typeflag: tar.TypeReg}
		if target, link := strings.CutPrefix(string(data), "->"); link {
			header = &tar.Header{Name: name, Linkname: target, Typeflag: tar.TypeSymlink}
			data = nil
		}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &out
}

// importImage makes an image of files and Dockerfile instructions; it goes with the test.
func importImage(t testing.TB, files map[string][]byte, changes ...string) string {
	t.Helper()
	c, ref := rawClient(t), "runnerhub-test/"+topology.NewTag()+":local"
	body, err := c.ImageImport(t.Context(), image.ImportSource{Source: tarball(t, files), SourceName: "-"}, ref, image.ImportOptions{Changes: changes})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, body)
	_ = body.Close()
	removeImage(t, ref)
	return ref
}

// removeImage removes an image with the test.
func removeImage(t testing.TB, ref string) {
	c := rawClient(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, _ = c.ImageRemove(ctx, ref, image.RemoveOptions{Force: true})
	})
}

// shellFiles are the files of an image with busybox, its shell and what else is named.
func shellFiles(t testing.TB, applets ...string) map[string][]byte {
	t.Helper()
	path, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal("busybox is missing; run: make test-setup (or apt-get install -y busybox-static)")
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"bin/busybox": binary}
	for _, name := range applets {
		files["bin/"+name] = []byte("->busybox")
	}
	return files
}

// loadForeign loads an image that says it is for another processor.
func loadForeign(t testing.TB, arch string) string {
	t.Helper()
	ref := "runnerhub-test/" + topology.NewTag() + ":foreign"
	layer := tarball(t, map[string][]byte{"bin/sh": []byte("no program")}).Bytes()
	sum := sha256.Sum256(layer)
	config, err := json.Marshal(map[string]any{
		"architecture": arch, "os": "linux", "config": map[string]any{},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(sum[:])}},
	})
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := json.Marshal([]map[string]any{{"Config": "config.json", "RepoTags": []string{ref}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		t.Fatal(err)
	}
	archive := tarball(t, map[string][]byte{"config.json": config, "layer.tar": layer, "manifest.json": manifest})
	response, err := rawClient(t).ImageLoad(t.Context(), archive)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	removeImage(t, ref)
	return ref
}

// sh is a command line that runs a script.
func sh(script string) []string { return []string{"/bin/sh", "-c", script} }

// wantResult compares a result with "status class code signal container"; what is
// not there is left out.
func wantResult(t testing.TB, r topology.Result, want string, words ...string) {
	t.Helper()
	got := []string{string(r.Status)}
	if r.Failure != nil {
		got = append(got, string(r.Failure.Class))
	}
	if r.ExitCode != nil {
		got = append(got, itoa(*r.ExitCode))
	}
	if r.Signal != "" {
		got = append(got, r.Signal)
	}
	if r.Failure != nil && r.Failure.Container != "" {
		got = append(got, r.Failure.Container)
	}
	if strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q: %+v", strings.Join(got, " "), want, r.Failure)
	}
	for _, w := range words {
		if r.Failure == nil || !strings.Contains(r.Failure.Message+r.Failure.Hint, w) {
			t.Errorf("no %q in %+v", w, r.Failure)
		}
	}
}

func itoa(i int) string {
	b, _ := json.Marshal(i)
	return string(b)
}

// awaitLog returns an observer and a channel that is closed once stdout has words.
func awaitLog(words string) (*topologytest.Observer, <-chan struct{}) {
	seen := make(chan struct{})
	var said strings.Builder
	obs := &topologytest.Observer{}
	closed := false
	obs.OnLog = func(r topology.Record) error {
		if r.Stream == topology.Stdout && r.Service == "" && !closed { // one pump: no lock
			said.Write(r.Data)
			if strings.Contains(said.String(), words) {
				closed = true
				close(seen)
			}
		}
		return nil
	}
	return obs, seen
}
