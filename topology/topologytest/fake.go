package topologytest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/runnerhub/runnerhub/topology"
)

// Fake is a topology.Engine in memory. It keeps the rules of a real one, and runs
// Go functions where that runs programs. Make it with NewFake.
type Fake struct {
	mu         sync.Mutex
	info       topology.EngineInfo
	images     map[string]topology.Image
	remote     map[string]topology.Image // what Pull can fetch
	built      map[string]topology.BuildSpec
	contexts   map[string]map[string]string // of what was built: files of the context, by image
	programs   map[string]Program
	networks   map[string]topology.NetworkSpec
	volumes    map[string]topology.VolumeSpec
	trees      map[string]fakeTree   // what the volumes hold
	imageFiles map[string][]FakeFile // what new containers hold
	containers map[string]*fakeContainer
	faults     map[string]error
	disk       map[string]int64 // what a container has written, by a part of its name
	free       int64
	frozen     chan struct{} // closed while the engine answers nothing
	calls      []string
	kills      []fakeKill    // for want of memory
	oneMore    chan struct{} // closed when there is another kill
}

// Program stands in for a program; it returns the exit code. It must return soon
// after p.Killed is closed.
type Program func(p *FakeProcess) int

var _ topology.Engine = (*Fake)(nil)

// NewFake returns an engine for linux/amd64 that has the image FakeImage, and no
// programs but those of the contract suite and the one that holds steps open.
func NewFake() *Fake {
	f := &Fake{
		info: topology.EngineInfo{Info: topology.Info{
			Engine: "fake 1.0", Endpoint: "in memory (topologytest)", OS: "linux", Arch: "amd64",
			Capabilities: []string{"docker", "linux", "amd64"},
		}, Init: true},
		images: map[string]topology.Image{}, remote: map[string]topology.Image{}, programs: map[string]Program{},
		built: map[string]topology.BuildSpec{}, contexts: map[string]map[string]string{},
		networks: map[string]topology.NetworkSpec{}, volumes: map[string]topology.VolumeSpec{}, trees: map[string]fakeTree{}, imageFiles: map[string][]FakeFile{},
		containers: map[string]*fakeContainer{}, faults: map[string]error{}, frozen: make(chan struct{}), oneMore: make(chan struct{}), disk: map[string]int64{}, free: -1,
	}
	f.AddImage(FakeImage, topology.Image{ID: "sha256:fake", OS: "linux", Arch: "amd64"})
	maps.Copy(f.programs, contractPrograms)
	return f
}

// FakeImage is the image that every Fake has.
const FakeImage = "fake/image:local"

// AddImage makes an image present.
func (f *Fake) AddImage(ref string, image topology.Image) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.images[ref] = image
}

// AddRemote makes an image one that can be pulled.
func (f *Fake) AddRemote(ref string, image topology.Image) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remote[ref] = image
}

// AddProgram has every process whose last argument is script run p.
func (f *Fake) AddProgram(script string, p Program) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.programs[script] = p
}

// SetInfo changes what the engine says of itself.
func (f *Fake) SetInfo(info topology.EngineInfo) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.info = info
}

// SetDisk sets what the containers whose name contains part have written, in bytes.
func (f *Fake) SetDisk(part string, bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.disk[part] = bytes
}

// SetFree sets the room that is left on the engine's disk, in bytes; -1 is not known.
func (f *Fake) SetFree(bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.free = bytes
}

// FailNext makes the next call of a method ("CreateContainer") return err.
func (f *Fake) FailNext(method string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults[method] = err
}

// Freeze makes the engine answer nothing any more: calls last until their context
// ends, and processes neither speak nor end.
func (f *Fake) Freeze() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.frozen)
}

// Calls returns the calls so far, each as "Method target".
func (f *Fake) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// enter is the beginning of every call: it notes it, fails it, or holds it.
func (f *Fake) enter(ctx context.Context, method, target string) error {
	f.mu.Lock()
	f.calls = append(f.calls, strings.TrimSpace(method+" "+target))
	err := f.faults[method]
	delete(f.faults, method)
	frozen := f.frozen
	f.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case <-frozen:
		<-ctx.Done()
	default:
	}
	if ctx.Err() != nil {
		return fault(topology.KindUnavailable, method+" "+target, context.Cause(ctx).Error())
	}
	return nil
}

func fault(kind topology.ErrorKind, op, words string) error {
	return &topology.EngineError{Kind: kind, Op: op, Err: errors.New(words)}
}

// Info returns what SetInfo set.
func (f *Fake) Info(ctx context.Context) (topology.EngineInfo, error) {
	if err := f.enter(ctx, "Info", ""); err != nil {
		return topology.EngineInfo{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.info, nil
}

// Ping answers unless the engine is frozen.
func (f *Fake) Ping(ctx context.Context) error { return f.enter(ctx, "Ping", "") }

// Close does nothing.
func (f *Fake) Close() error { return nil }

// Image describes an image of AddImage's, or one that was pulled.
func (f *Fake) Image(ctx context.Context, ref string) (topology.Image, error) {
	if err := f.enter(ctx, "Image", ref); err != nil {
		return topology.Image{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	image, present := f.images[ref]
	if !present {
		return image, fault(topology.KindNotFound, "inspect image "+ref, "no such image")
	}
	return image, nil
}

// Pull makes an image of AddRemote's present.
func (f *Fake) Pull(ctx context.Context, ref, platform string, progress func(topology.PullProgress)) error {
	if err := f.enter(ctx, "Pull", strings.TrimSpace(ref+" "+platform)); err != nil {
		return err
	}
	if progress != nil {
		progress(topology.PullProgress{Layers: 1, LayersDone: 1, Bytes: 1, TotalBytes: 1})
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	image, known := f.remote[ref]
	if !known {
		return fault(topology.KindPull, "pull "+ref, fmt.Sprintf("manifest for %s not found: manifest unknown", ref))
	}
	f.images[ref] = image
	return nil
}

// Abandon kills every process, as a reboot of a frozen machine would.
func (f *Fake) Abandon() {
	f.mu.Lock()
	containers := slices.Collect(maps.Values(f.containers))
	f.mu.Unlock()
	for _, c := range containers {
		c.kill()
	}
}
