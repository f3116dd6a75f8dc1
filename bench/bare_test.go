package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/runnerhub/runnerhub/topology"
)

// busybox is an image of the tests: every applet, no ENTRYPOINT.
const busybox = "runnerhub/busybox:local"

// bare runs jobs by the Docker client alone, in the mode that the runner has them in: a network that is there already, a volume
// for the workspace, an init, a log that can be read again, no metadata addresses.
type bare struct {
	b       *testing.B
	client  *client.Client
	network string
}

func newBare(b *testing.B) *bare {
	b.Helper()
	c, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	must(b, err)
	d := &bare{b, c, "rh-bench-" + topology.NewTag()}
	_, err = c.NetworkCreate(b.Context(), d.network, network.CreateOptions{})
	must(b, err)
	b.Cleanup(func() {
		_ = c.NetworkRemove(context.Background(), d.network)
		_ = c.Close()
	})
	return d
}

// job returns how long it takes until the output and the exit of a container are known; removing it does not count.
func (d *bare) job(command ...string) time.Duration {
	d.b.Helper()
	ctx, name, yes := d.b.Context(), "rh-bench-"+topology.NewTag(), true
	begun := time.Now()
	_, err := d.client.VolumeCreate(ctx, volume.CreateOptions{Name: name})
	must(d.b, err)
	made, err := d.client.ContainerCreate(ctx, &container.Config{Image: busybox, Cmd: command, Hostname: "job", WorkingDir: "/workspace", AttachStdout: true, AttachStderr: true},
		&container.HostConfig{
			NetworkMode: container.NetworkMode(d.network), Init: &yes, CapDrop: []string{"NET_RAW"},
			LogConfig: container.LogConfig{Type: "local", Config: map[string]string{"max-size": "16m", "max-file": "5", "compress": "false"}},
			Mounts:    []mount.Mount{{Type: mount.TypeVolume, Source: name, Target: "/workspace"}},
		},
		&network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{d.network: {
			Aliases: []string{"job"}, IPAMConfig: &network.EndpointIPAMConfig{LinkLocalIPs: []string{"169.254.169.254"}},
		}}}, nil, name)
	must(d.b, err)
	stream, err := d.client.ContainerAttach(ctx, made.ID, container.AttachOptions{Stream: true, Stdout: true, Stderr: true})
	must(d.b, err)
	exits, errs := d.client.ContainerWait(ctx, made.ID, container.WaitConditionNextExit)
	must(d.b, d.client.ContainerStart(ctx, made.ID, container.StartOptions{}))
	select {
	case exit := <-exits:
		if exit.StatusCode != 0 {
			err = fmt.Errorf("the container exited with %d", exit.StatusCode)
		}
	case err = <-errs:
	}
	_, copied := stdcopy.StdCopy(io.Discard, io.Discard, stream.Reader)
	took := time.Since(begun)
	stream.Close()
	must(d.b, errors.Join(err, copied, d.client.ContainerRemove(ctx, made.ID, container.RemoveOptions{Force: true}), d.client.VolumeRemove(ctx, name, false)))
	return took
}

// dockerRun is how long `docker run --rm` takes, from its start to its end.
func dockerRun(b *testing.B, command ...string) time.Duration {
	b.Helper()
	took, err := tryDockerRun(b.Context(), command...)
	must(b, err)
	return took
}

// tryDockerRun is dockerRun for goroutines, which must not end the benchmark themselves.
func tryDockerRun(ctx context.Context, command ...string) (time.Duration, error) {
	begun := time.Now()
	out, err := exec.CommandContext(ctx, "docker", append([]string{"run", "--rm", busybox}, command...)...).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("docker run: %w\n%s", err, out)
	}
	return time.Since(begun), nil
}

// describeEngine names the engine and how it stores containers.
func describeEngine(ctx context.Context) (string, error) {
	c, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		return "", err
	}
	defer c.Close()
	info, err := c.Info(ctx)
	return strings.TrimSpace(fmt.Sprintf("Docker %s (%s, cgroup %s)", info.ServerVersion, info.Driver, info.CgroupVersion)), err
}
