package docker_test

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/attempt"
	"github.com/runnerhub/runnerhub/topology/docker"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// The benchmarks run a job by the executor and the same containers by the bare
// Docker client, in turns, and report how many times as long the executor takes:
//
//	x/bare   against a client that is given a network, and whose removals do not count
//	x/whole  against one that makes the network and removes everything, as it must
//
// Nothing else runs while one of them is timed.

func BenchmarkJob(b *testing.B) {
	compare(b, &topology.Spec{Image: busybox, Command: []string{"true"}}, nil)
}

func BenchmarkJobAndService(b *testing.B) {
	check := []string{"test", "-e", "/ready"}
	service := []string{"sh", "-c", "touch /ready; exec sleep 1000"}
	compare(b, &topology.Spec{
		Image: busybox, Command: []string{"true"},
		Services: map[string]topology.Service{"db": {
			Image: busybox, Command: service,
			Healthcheck: &topology.Healthcheck{Test: append([]string{"CMD"}, check...)},
		}},
	}, &bareService{command: service, check: check})
}

// BenchmarkSteps measures a job of two steps against a bare client that runs the
// same two by exec.
func BenchmarkSteps(b *testing.B) {
	compare(b, &topology.Spec{Image: busybox, Steps: []topology.Step{{Name: "a", Run: "true"}, {Name: "b", Run: "true"}}}, nil)
}

func compare(b *testing.B, spec *topology.Spec, svc *bareService) {
	ctx := b.Context()
	removed := make(chan struct{}, 1)
	executor, err := docker.New(ctx, docker.Options{Options: attempt.Options{
		Removed: func(topology.Identity, topology.Leaks) { removed <- struct{}{} },
	}})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = executor.Close(context.WithoutCancel(ctx)) }()
	id := identity(b)
	bare := newBareClient(b, id)
	run := func() time.Duration {
		begin := time.Now()
		result := executor.Run(ctx, topology.Work{Identity: id, Spec: spec}, &topologytest.Observer{})
		took := time.Since(begin)
		if result.Status != topology.Succeeded {
			b.Fatalf("%+v", result.Failure)
		}
		<-removed
		return took
	}
	run() // images and the pool are warm from here on
	var ours, partly, whole []time.Duration
	for b.Loop() {
		ours = append(ours, run())
		p, w := bare.run(spec, svc)
		partly, whole = append(partly, p), append(whole, w)
	}
	b.ReportMetric(float64(median(ours))/float64(median(partly)), "x/bare")
	b.ReportMetric(float64(median(ours))/float64(median(whole)), "x/whole")
	b.ReportMetric(float64(median(ours).Milliseconds()), "ms/job")
	b.ReportMetric(0, "ns/op") // the sum of what is compared: no figure of interest
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

type bareService struct{ command, check []string }

// bareClient does what a small program around the Docker client would.
type bareClient struct {
	b      *testing.B
	client *client.Client
	labels map[string]string
	ready  string
}

func newBareClient(b *testing.B, id topology.Identity) *bareClient {
	c, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		b.Fatal(err)
	}
	bare := &bareClient{b: b, client: c, labels: id.Labels("bench"), ready: "rh-bench-" + topology.NewTag()}
	bare.network(bare.ready)
	b.Cleanup(func() {
		_ = c.NetworkRemove(context.Background(), bare.ready)
		_ = c.Close()
	})
	return bare
}

func (c *bareClient) must(err error) {
	if err != nil {
		c.b.Helper()
		c.b.Fatal(err)
	}
}

func (c *bareClient) network(name string) {
	_, err := c.client.NetworkCreate(c.b.Context(), name, network.CreateOptions{Labels: c.labels})
	c.must(err)
}

// run returns how long the job took on a network that was there already, and how
// long with a network of its own and everything removed at the end.
func (c *bareClient) run(spec *topology.Spec, svc *bareService) (partly, whole time.Duration) {
	begin := time.Now()
	name := "rh-bench-" + topology.NewTag()
	c.network(name)
	c.must(c.client.NetworkRemove(c.b.Context(), name))
	networking := time.Since(begin)

	begin = time.Now()
	remove := c.job(spec, svc)
	partly = time.Since(begin)
	begin = time.Now()
	remove()
	return partly, networking + partly + time.Since(begin)
}

func (c *bareClient) job(spec *topology.Spec, svc *bareService) (remove func()) {
	ctx := c.b.Context()
	volumeName := "rh-bench-" + topology.NewTag()
	_, err := c.client.VolumeCreate(ctx, volume.CreateOptions{Name: volumeName, Labels: c.labels})
	c.must(err)
	containers := []string{}
	if svc != nil {
		id := c.create(svc.command, "", "db")
		containers = append(containers, id)
		c.start(id)
		for c.exec(id, svc.check) != 0 {
			time.Sleep(10 * time.Millisecond)
		}
	}
	command := spec.Command
	if len(spec.Steps) > 0 {
		command = []string{"sleep", "1000"}
	}
	id := c.create(command, volumeName, "job")
	containers = append(containers, id)
	stream, err := c.client.ContainerAttach(ctx, id, container.AttachOptions{Stream: true, Stdout: true, Stderr: true})
	c.must(err)
	defer stream.Close()
	waiting, stopWaiting := context.WithCancel(ctx)
	exits, errs := c.client.ContainerWait(waiting, id, container.WaitConditionNextExit)
	c.start(id)
	if len(spec.Steps) > 0 {
		for _, step := range spec.Steps {
			c.exec(id, spec.StepArgv(step.Run))
		}
		stopWaiting()
		<-errs
	} else {
		select {
		case <-exits:
		case err := <-errs:
			c.must(err)
		}
		_, err = stdcopy.StdCopy(&bytes.Buffer{}, &bytes.Buffer{}, stream.Reader)
		c.must(err)
	}
	stopWaiting()
	return func() {
		for _, id := range containers {
			c.must(c.client.ContainerRemove(ctx, id, container.RemoveOptions{Force: true}))
		}
		c.must(c.client.VolumeRemove(ctx, volumeName, false))
	}
}

func (c *bareClient) create(command []string, volumeName, alias string) string {
	host := &container.HostConfig{NetworkMode: container.NetworkMode(c.ready)}
	if volumeName != "" {
		host.Mounts = []mount.Mount{{Type: mount.TypeVolume, Source: volumeName, Target: "/workspace"}}
	}
	created, err := c.client.ContainerCreate(c.b.Context(), &container.Config{Image: busybox, Cmd: command, Labels: c.labels, WorkingDir: "/workspace"}, host,
		&network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{c.ready: {Aliases: []string{alias}}}}, nil, "")
	c.must(err)
	return created.ID
}

func (c *bareClient) start(id string) {
	c.must(c.client.ContainerStart(c.b.Context(), id, container.StartOptions{}))
}

func (c *bareClient) exec(id string, argv []string) int {
	ctx := c.b.Context()
	created, err := c.client.ContainerExecCreate(ctx, id, container.ExecOptions{Cmd: argv, AttachStdout: true, AttachStderr: true})
	c.must(err)
	stream, err := c.client.ContainerExecAttach(ctx, created.ID, container.ExecAttachOptions{})
	c.must(err)
	defer stream.Close()
	_, err = stdcopy.StdCopy(&bytes.Buffer{}, &bytes.Buffer{}, stream.Reader)
	c.must(err)
	state, err := c.client.ContainerExecInspect(ctx, created.ID)
	c.must(err)
	return state.ExitCode
}
