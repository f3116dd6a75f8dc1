package topologytest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

func testInfo(l *lab) {
	info, err := l.engine.Info(l.Context())
	l.must(err)
	if info.Engine == "" || info.Endpoint == "" || info.OS != "linux" || info.Arch == "" ||
		!slices.Contains(info.Capabilities, "docker") && !slices.Contains(info.Capabilities, "host") {
		l.Errorf("info %+v", info)
	}
	l.must(l.engine.Ping(l.Context()))
}

func testImages(l *lab) {
	image, err := l.engine.Image(l.Context(), l.image)
	l.must(err)
	if image.ID == "" || image.OS != "linux" || image.Arch == "" {
		l.Errorf("image %+v", image)
	}
	_, err = l.engine.Image(l.Context(), "no-such-image-"+l.tag)
	l.wantKind("absent image", err, topology.KindNotFound)
}

func testResources(l *lab) {
	ctx := l.Context()
	network, volume := "rh-contract-net-"+l.tag, "rh-contract-vol-"+l.tag
	l.must(l.engine.CreateNetwork(ctx, topology.NetworkSpec{Name: network, Labels: l.id.Labels(topology.RoleNetwork)}))
	l.must(l.engine.CreateVolume(ctx, topology.VolumeSpec{Name: volume, Labels: l.id.Labels(topology.RoleWorkspace)}))
	name := l.create(scriptSleep, func(c *topology.ContainerSpec) {
		c.Network, c.Aliases, c.Volumes = network, []string{"job"}, map[string]string{"/workspace": volume}
	})
	_, out := l.start(name)
	out.await(l, "ready")

	seen, err := l.engine.Observe(ctx, l.id.Filter())
	l.must(err)
	if seen.Count() != (topology.Leaks{Containers: 1, Networks: 1, Volumes: 1}) {
		l.Fatalf("observed %+v", seen)
	}
	c := seen.Containers[0]
	if c.Name != name || !c.Running || !slices.Equal(c.Networks, []string{network}) || !slices.Equal(c.Volumes, []string{volume}) ||
		topology.IdentityOf(c.Labels) != l.id || c.Labels[topology.LabelRole] != topology.RoleJob {
		l.Errorf("container %+v", c)
	}
	other := l.id.Filter()
	other.Epoch++
	if seen, err := l.engine.Observe(ctx, other); err != nil || seen.Count().Total() != 0 {
		l.Errorf("another epoch sees %+v, %v", seen, err)
	}
	inUse, err := l.engine.NetworkInUse(ctx, network)
	if err != nil || !inUse {
		l.Errorf("in use: %v, %v", inUse, err)
	}
	l.wantKind("network in use", l.engine.RemoveNetwork(ctx, network), topology.KindBusy)
	l.wantKind("volume in use", l.engine.RemoveVolume(ctx, volume), topology.KindBusy)
	l.must(l.engine.RemoveContainer(ctx, name))
	if inUse, err := l.engine.NetworkInUse(ctx, network); err != nil || inUse {
		l.Errorf("in use after removal: %v, %v", inUse, err)
	}
	l.must(l.engine.RemoveNetwork(ctx, network))
	l.must(l.engine.RemoveVolume(ctx, volume))
	l.wantKind("container twice", l.engine.RemoveContainer(ctx, name), topology.KindNotFound)
	l.wantKind("network twice", l.engine.RemoveNetwork(ctx, network), topology.KindNotFound)
	l.wantKind("volume twice", l.engine.RemoveVolume(ctx, volume), topology.KindNotFound)
}

// testSets finds what stays between jobs by its set.
func testSets(l *lab) {
	ctx := l.Context()
	labels := topology.SetLabels(l.id.Hub, l.id.Runner, l.tag)
	volume := "rh-contract-vol-" + l.tag
	l.must(l.engine.CreateVolume(ctx, topology.VolumeSpec{Name: volume, Labels: labels}))
	name := l.create(scriptSleep, func(c *topology.ContainerSpec) {
		c.Labels, c.Mounts = labels, []topology.Mount{{Type: topology.MountVolume, Source: volume, Target: "/data"}}
	})
	l.must(l.engine.CreateVolume(ctx, topology.VolumeSpec{Name: volume + "-job", Labels: l.id.Labels(topology.RoleVolume)}))
	of := func(f topology.Filter) topology.Leaks {
		seen, err := l.engine.Observe(ctx, f)
		l.must(err)
		return seen.Count()
	}
	filter := topology.Filter{Hub: l.id.Hub, Runner: l.id.Runner, Set: l.tag}
	if got := of(filter); got != (topology.Leaks{Containers: 1, Volumes: 1}) {
		l.Errorf("the set has %+v", got)
	}
	if got := of(l.id.Filter()); got != (topology.Leaks{Volumes: 1}) {
		l.Errorf("the attempt has %+v", got)
	}
	filter.Set = "another"
	if got := of(filter); got.Total() != 0 {
		l.Errorf("another set has %+v", got)
	}
	seen, err := l.engine.Observe(ctx, topology.Filter{Hub: l.id.Hub, Set: l.tag})
	l.must(err)
	if c := seen.Containers[0]; c.Name != name || c.Labels[topology.LabelSet] != l.tag || topology.IdentityOf(c.Labels).Job != "" || !slices.Contains(c.Volumes, volume) {
		l.Errorf("member %+v", c)
	}
}

// testSharedNetwork has a container share the network, and the host name, of another one.
func testSharedNetwork(l *lab) {
	network := "rh-contract-net-" + l.tag
	l.must(l.engine.CreateNetwork(l.Context(), topology.NetworkSpec{Name: network, Labels: l.id.Labels(topology.RoleNetwork)}))
	host := l.create(scriptSleep, func(c *topology.ContainerSpec) { c.Network, c.Hostname = network, "thehost" })
	_, out := l.start(host)
	out.await(l, "ready")
	guest := l.create(scriptHost, func(c *topology.ContainerSpec) { c.Name, c.NetworkOf = c.Name+"-guest", host })
	process, said := l.start(guest)
	if exit := l.wait(process); exit.Code != 0 || said.of(topology.Stdout) != "thehost\n" {
		l.Errorf("%+v, %q", exit, said.of(topology.Stdout))
	}
	name := "rh-contract-absent-" + l.tag
	err := l.engine.CreateContainer(l.Context(), topology.ContainerSpec{
		Name: name, Image: l.image, Command: []string{"true"}, NetworkOf: name + "-host", Labels: l.id.Labels(topology.RoleJob),
	})
	if err == nil { // engines may notice only now
		_, err = l.engine.Start(l.Context(), name, nil)
	}
	l.wantKind("the network of what is not there", err, topology.KindNotFound)
}

func testOutput(l *lab) {
	name := l.create(scriptSpeak, func(c *topology.ContainerSpec) { c.Env = []string{"GREETING=hello"} })
	process, out := l.start(name)
	if exit := l.wait(process); exit != (topology.Exit{Code: 3}) {
		l.Errorf("exit %+v", exit)
	}
	if got := out.of(topology.Stdout); got != "out\nhello\n" {
		l.Errorf("stdout %q", got)
	}
	if got := out.of(topology.Stderr); got != "err\n" {
		l.Errorf("stderr %q", got)
	}
	if exit := l.wait(process); exit.Code != 3 {
		l.Errorf("second wait %+v", exit)
	}
	l.wantKind("signal after the end", l.engine.Signal(l.Context(), name, "SIGTERM"), topology.KindNotRunning)
	_, err := l.engine.Exec(l.Context(), name, topology.ExecSpec{Argv: []string{"/bin/sh", "-c", scriptTrue}}, nil)
	l.wantKind("exec after the end", err, topology.KindNotRunning)
}

func testLongOutput(l *lab) {
	process, out := l.start(l.create(scriptWrite, nil))
	if exit := l.wait(process); exit.Code != 0 {
		l.Errorf("exit %+v", exit)
	}
	if got, want := out.of(topology.Stdout), longText(); got != want {
		l.Errorf("%d bytes, want %d; the end is %q", len(got), len(want), got[max(0, len(got)-40):])
	}
}

func testNoProgram(l *lab) {
	name := l.create("", func(c *topology.ContainerSpec) { c.Command = []string{"/no/such/program"} })
	_, err := l.engine.Start(l.Context(), name, nil)
	l.wantKind("start", err, topology.KindCommand)
}

func testExec(l *lab) {
	name := l.create(scriptSleep, func(c *topology.ContainerSpec) { c.Env = []string{"GREETING=container"} })
	_, err := l.engine.Exec(l.Context(), name, topology.ExecSpec{Argv: []string{"/bin/sh", "-c", scriptTrue}}, nil)
	l.wantKind("before the start", err, topology.KindNotRunning)
	_, started := l.start(name)
	started.await(l, "ready")
	out := newText()
	exit, err := l.engine.Exec(l.Context(), name, topology.ExecSpec{
		Argv: []string{"/bin/sh", "-c", scriptSpeak}, Env: []string{"GREETING=exec"}, OOMShell: "/bin/sh",
	}, out.write)
	l.must(err)
	if exit != (topology.Exit{Code: 3}) || out.of(topology.Stdout) != "out\nexec\n" || out.of(topology.Stderr) != "err\n" {
		l.Errorf("exit %+v, stdout %q, stderr %q", exit, out.of(topology.Stdout), out.of(topology.Stderr))
	}
	out = newText()
	_, err = l.engine.Exec(l.Context(), name, topology.ExecSpec{Argv: []string{"/bin/sh", "-c", scriptSpeak}}, out.write)
	l.must(err)
	if got := out.of(topology.Stdout); got != "out\ncontainer\n" {
		l.Errorf("stdout %q", got)
	}
	for stdin, want := range map[string]string{"": "tmp\n", "given\n": "given\ntmp\n"} {
		out = newText()
		spec := topology.ExecSpec{Argv: []string{"/bin/sh", "-c", scriptRead}, WorkingDir: "/tmp", Stdin: []byte(stdin)}
		if exit, err := l.engine.Exec(l.Context(), name, spec, out.write); err != nil || exit.Code != 0 || out.of(topology.Stdout) != want {
			l.Errorf("with the input %q: %+v, %v, stdout %q", stdin, exit, err, out.of(topology.Stdout))
		}
	}
	if _, err := l.engine.Usage(l.Context(), name); err != nil {
		l.Errorf("usage: %v", err)
	}
}

func testSignals(l *lab) {
	name := l.create(scriptWait, nil)
	process, out := l.start(name)
	out.await(l, "ready")
	l.must(l.engine.Signal(l.Context(), name, "SIGTERM"))
	if exit := l.wait(process); exit.Code != 7 {
		l.Errorf("exit %+v", exit)
	}
	if got := out.of(topology.Stdout); got != "ready\nbye\n" {
		l.Errorf("stdout %q", got)
	}
}

func testSignalAll(l *lab) {
	name := l.create(scriptHold, func(c *topology.ContainerSpec) { c.OpenStdin, c.Init = true, true })
	main, _ := l.start(name)
	out := newText()
	ended := make(chan topology.Exit, 1)
	go func() {
		exit, err := l.engine.Exec(l.Context(), name, topology.ExecSpec{Argv: []string{"/bin/sh", "-c", scriptWait}}, out.write)
		if err != nil {
			l.Error(err)
		}
		ended <- exit
	}()
	out.await(l, "ready")
	l.must(l.engine.SignalAll(l.Context(), name, "/bin/sh", "SIGTERM"))
	if exit := <-ended; exit.Code != 7 {
		l.Errorf("exit %+v", exit)
	}
	l.must(l.engine.Signal(l.Context(), name, "SIGKILL")) // an error if the main process had ended too
	if exit := l.wait(main); exit.Code != 137 {
		l.Errorf("exit of the main process %+v", exit)
	}
}

func testRemoval(l *lab) {
	name := l.create(scriptSleep, nil)
	process, out := l.start(name)
	out.await(l, "ready")
	l.must(l.engine.RemoveContainer(l.Context(), name))
	if exit := l.wait(process); exit.Code != 137 {
		l.Errorf("exit %+v", exit)
	}
}

func testOpenDir(l *lab) {
	volume := "rh-contract-vol-" + l.tag
	l.must(l.engine.CreateVolume(l.Context(), topology.VolumeSpec{Name: volume, Labels: l.id.Labels(topology.RoleWorkspace)}))
	name := l.create(scriptDirUse, func(c *topology.ContainerSpec) {
		c.User, c.Volumes = "1000:1000", map[string]string{"/workspace": volume}
	})
	l.must(l.engine.OpenDir(l.Context(), name, "/workspace"))
	process, out := l.start(name)
	if exit := l.wait(process); exit.Code != 0 {
		l.Errorf("exit %+v, stderr %q", exit, out.of(topology.Stderr))
	}
}

func testContexts(l *lab) {
	name := l.create(scriptSleep, nil)
	process, out := l.start(name)
	out.await(l, "ready")
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(l.Context())
	time.AfterFunc(10*time.Millisecond, func() { cancel(reason) })
	if _, err := process.Wait(ctx); !errors.Is(err, reason) {
		l.Errorf("wait: %v", err)
	}
	short, stop := context.WithTimeout(l.Context(), 10*time.Millisecond)
	defer stop()
	if _, err := l.engine.Exec(short, name, topology.ExecSpec{Argv: []string{"/bin/sh", "-c", scriptSleep}}, nil); err == nil {
		l.Errorf("an exec outlived its context")
	}
	if _, err := l.engine.Observe(ctx, l.id.Filter()); err == nil {
		l.Errorf("a call succeeded after its context")
	}
}

func testDisk(l *lab) {
	volume := "rh-contract-vol-" + l.tag
	l.must(l.engine.CreateVolume(l.Context(), topology.VolumeSpec{Name: volume, Labels: l.id.Labels(topology.RoleWorkspace), Limit: 64 << 20}))
	name := l.create(scriptDirUse, func(c *topology.ContainerSpec) {
		c.Volumes, c.Resources.Disk = map[string]string{"/workspace": volume}, 64<<20
	})
	process, out := l.start(name)
	if exit := l.wait(process); exit.Code != 0 {
		l.Errorf("exit %+v, stderr %q", exit, out.of(topology.Stderr))
	}
	used, err := l.engine.DiskUsage(l.Context(), []string{name, "no-such-container-" + l.tag})
	l.must(err)
	if bytes, there := used[name]; !there || len(used) != 1 || bytes < 0 || bytes > 1<<20 {
		l.Errorf("used %v", used)
	}
	if free, err := l.engine.DiskFree(l.Context()); err != nil || free < -1 {
		l.Errorf("free %d, %v", free, err)
	}
}
