package docker

import (
	"errors"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/topology"
)

func TestErrorsKeepTheirMeaning(t *testing.T) {
	t.Parallel()
	tests := []struct {
		words string
		class error
		want  topology.ErrorKind
	}{
		{"write /var/lib/docker/overlay2/x: no space left on device", nil, topology.KindDiskFull},
		{"No such container: x", errdefs.ErrNotFound, topology.KindNotFound},
		{"Container abc is not running", errdefs.ErrConflict, topology.KindNotRunning},
		{"removal of container abc is already in progress", errdefs.ErrConflict, topology.KindBusy},
		{"error while removing network: network x id y has active endpoints", errdefs.ErrPermissionDenied, topology.KindBusy},
		{"remove x: volume is in use - [y]", errdefs.ErrConflict, topology.KindBusy},
		{"Minimum memory limit allowed is 6MB", errdefs.ErrInvalidArgument, topology.KindInvalid},
		{`OCI runtime create failed: runc create failed: unable to start container process: exec: "nosuch": executable file not found in $PATH: unknown`, errdefs.ErrInvalidArgument, topology.KindCommand},
		{`OCI runtime create failed: container_linux.go:380: starting container process caused: exec: "/x": permission denied: unknown`, errdefs.ErrInvalidArgument, topology.KindCommand},
		{`failed to create shim task: OCI runtime create failed: unable to start container process: exec: "/no": stat /no: no such file or directory: unknown`, nil, topology.KindCommand},
		{"no matching manifest for linux/arm64/v8 in the manifest list entries", errdefs.ErrNotFound, topology.KindPlatform},
		{"could not find an available, non-overlapping IPv4 address pool among the defaults", nil, topology.KindUnavailable},
		{"something else", nil, topology.KindOther},
	}
	for _, tt := range tests {
		err := errors.New("Error response from daemon: " + tt.words)
		if tt.class != nil {
			err = errors.Join(err, tt.class)
		}
		if got := topology.KindOf(wrap("do it", err)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.words, got, tt.want)
		}
	}
	if got := wrap("do it", errors.New("Error response from daemon: words")).Error(); got != "do it: words" {
		t.Error(got)
	}
	if wrap("do it", nil) != nil {
		t.Error("nil became an error")
	}
}

func TestPullErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		words string
		known bool
		kind  topology.ErrorKind
		hint  string
	}{
		{"manifest for app:x not found: manifest unknown", false, topology.KindPull, "Check the image's name and tag."},
		{`Get "http://r/v2/": unauthorized: authentication required`, true, topology.KindPull, "The registry refuses the credentials that the runner's user is logged in with; run docker login again as that user."},
		{"pull access denied for x, repository does not exist or may require 'docker login'", false, topology.KindPull, "Check the name; if the image is private, run docker login for its registry as the runner's user."},
		{"dial tcp: lookup nowhere: no such host", false, topology.KindPull, "The engine cannot reach the registry; check the name and the machine's network."},
		{"failed to register layer: no space left on device", false, topology.KindDiskFull, "Free space on the runner's machine; `docker system df` shows what Docker holds."},
	}
	for _, tt := range tests {
		var got *topology.EngineError
		if !errors.As(pullError("pull x", errors.New(tt.words), tt.known), &got) || got.Kind != tt.kind || got.Hint != tt.hint || got.Err.Error() != tt.words {
			t.Errorf("%s: %+v", tt.words, got)
		}
	}
}

func TestLayerCount(t *testing.T) {
	t.Parallel()
	c := newLayerCount()
	message := func(id, status string, current, total int64) bool {
		m := pullMessage{ID: id, Status: status}
		m.ProgressDetail.Current, m.ProgressDetail.Total = current, total
		return c.note(m)
	}
	if message("latest", "Pulling from library/app", 0, 0) || message("", "Digest: sha256:x", 0, 0) {
		t.Error("a word about the whole counts as a layer")
	}
	message("a", "Already exists", 0, 0)
	message("b", "Pulling fs layer", 0, 0)
	message("c", "Waiting", 0, 0)
	message("b", "Downloading", 50, 100)
	message("c", "Downloading", 10, 40)
	if diff := cmp.Diff(topology.PullProgress{Layers: 3, LayersDone: 1, Bytes: 60, TotalBytes: 140}, c.progress()); diff != "" {
		t.Error(diff)
	}
	message("b", "Download complete", 0, 0)
	message("b", "Extracting", 3, 100)
	message("b", "Pull complete", 0, 0)
	if diff := cmp.Diff(topology.PullProgress{Layers: 3, LayersDone: 2, Bytes: 110, TotalBytes: 140}, c.progress()); diff != "" {
		t.Error(diff)
	}
}

func TestArchWords(t *testing.T) {
	t.Parallel()
	for machine, want := range map[string]string{"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm/v7", "amd64": "amd64", "riscv64": "riscv64"} {
		arch, variant := goArch(machine)
		if variant != "" {
			arch += "/" + variant
		}
		if arch != want {
			t.Errorf("%s is %s, want %s", machine, arch, want)
		}
	}
}
