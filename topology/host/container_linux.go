package host

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// A container is a folder of Engine.dir, called as the container is:
//
//	record.json   what another process has to know to remove it
//	root/         what the job has of its own, and owns
//	    workspace/  where it starts
//	    home/       $HOME
//	    tmp/        $TMPDIR
//
// Paths that the engine is given (/workspace/x) are below root.
const (
	recordFile = "record.json"
	rootDir    = "root"
	homeDir    = "home"
	tmpDir     = "tmp"
)

// record is what is kept of a container on disk.
type record struct {
	Labels  map[string]string
	Started bool     `json:",omitempty"`
	Groups  []string `json:",omitempty"` // folders of its control groups
}

// container is one that this process has made.
type container struct {
	name, dir string
	root      string // of its files, which are another container's where it is beside that
	spec      topology.ContainerSpec
	user      account
	group     group

	mu       sync.Mutex
	record   record
	main     *command // nil until it is started
	commands map[*command]bool
	unsure   bool  // something may live on that no supervisor has killed
	oomSeen  int64 // processes killed for want of memory, as far as was told
	oomOurs  int64 // those that were killed by watchMemory
	usage    topology.Usage
}

// CreateContainer makes the folder of a job, and the control groups that keep its limits.
func (e *Engine) CreateContainer(ctx context.Context, spec topology.ContainerSpec) error {
	op := "create container " + spec.Name
	if err := ended(ctx, op); err != nil {
		return err
	}
	user, err := e.account()
	if err != nil {
		return err
	}
	c := &container{
		name: spec.Name, dir: filepath.Join(e.dir, spec.Name), spec: spec, user: user,
		record: record{Labels: spec.Labels}, commands: map[*command]bool{},
	}
	c.root = filepath.Join(c.dir, rootDir)
	if filepath.Base(c.dir) != spec.Name || strings.HasPrefix(spec.Name, ".") {
		return faultf(topology.KindInvalid, op, "%q cannot be the name of a folder", spec.Name)
	}
	if spec.Beside != "" {
		other, err := e.find(ctx, op, spec.Beside)
		if err != nil {
			return err
		}
		c.root, c.user = other.root, other.user
	}
	if err := e.makeDir(c); err != nil {
		_ = os.RemoveAll(c.dir)
		return fault(op, err)
	}
	c.group = e.hierarchy().create(spec.Name, spec.Resources)
	c.record.Groups = c.group.dirs()
	if err := c.save(); err != nil {
		c.group.remove()
		_ = os.RemoveAll(c.dir)
		return fault(op, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.containers[spec.Name] = c
	return nil
}

// makeDir makes the container's folders. Nobody but the runner, and the user that it is for, gets in.
func (e *Engine) makeDir(c *container) error {
	outer := os.FileMode(0o700)
	if c.user.Switch {
		outer = 0o711
	}
	if err := os.MkdirAll(e.dir, outer); err != nil {
		return err
	}
	if err := os.Mkdir(c.dir, outer); err != nil {
		return err
	}
	for _, dir := range []string{e.dir, c.dir} { // whatever the umask is, and whoever's job made it
		if err := os.Chmod(dir, outer); c.user.Switch && err != nil {
			return err
		}
	}
	if err := c.save(); err != nil {
		return err
	}
	if c.spec.Beside != "" {
		return nil
	}
	for _, name := range []string{"", topology.DefaultWorkingDir, homeDir, tmpDir} {
		dir := c.path(name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		if c.user.Switch {
			if err := os.Chown(dir, c.user.UID, c.user.GID); err != nil {
				return err
			}
		}
	}
	return nil
}

// save writes the record, whole or not at all.
func (c *container) save() error {
	data, err := json.Marshal(c.record)
	if err != nil {
		return err
	}
	to := filepath.Join(c.dir, recordFile)
	if err := os.WriteFile(to+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(to+".new", to)
}

// path is where an absolute path of the container's is on this machine.
func (c *container) path(p string) string { return filepath.Join(c.root, p) }

// find returns a container that this process has made.
func (e *Engine) find(ctx context.Context, op, name string) (*container, error) {
	if err := ended(ctx, op); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.containers[name]; c != nil {
		return c, nil
	}
	return nil, faultf(topology.KindNotFound, op, "there is no container %s", name)
}

// mainCommand returns what the container was started with, or an error where that does not run.
func (c *container) mainCommand(op string) (*command, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.main == nil || c.main.ended() {
		return nil, faultf(topology.KindNotRunning, op, "the job does not run")
	}
	return c.main, nil
}

// staleAfter is when a folder without a record is one that nobody is about to fill.
const staleAfter = time.Hour

// Observe lists the containers that match, whichever process has made them.
func (e *Engine) Observe(ctx context.Context, filter topology.Filter) (topology.Snapshot, error) {
	const op = "list the jobs' folders"
	var seen topology.Snapshot
	if err := ended(ctx, op); err != nil {
		return seen, err
	}
	list, err := os.ReadDir(e.dir)
	if errors.Is(err, os.ErrNotExist) {
		return seen, nil
	}
	if err != nil {
		return seen, fault(op, err)
	}
	for _, d := range list {
		r, err := e.readRecord(d.Name())
		if err != nil {
			if info, infoErr := d.Info(); infoErr == nil && errors.Is(err, os.ErrNotExist) && time.Since(info.ModTime()) > staleAfter {
				_ = removeTree(filepath.Join(e.dir, d.Name())) // its maker was killed before it wrote more
			}
			continue
		}
		if matches(filter, r.Labels) {
			seen.Containers = append(seen.Containers, topology.ObservedContainer{
				Name: d.Name(), Labels: r.Labels, Started: r.Started, Running: e.running(d.Name()),
			})
		}
	}
	return seen, nil
}

func (e *Engine) readRecord(name string) (r record, err error) {
	data, err := os.ReadFile(filepath.Join(e.dir, name, recordFile))
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	return r, err
}

func (e *Engine) running(name string) bool {
	e.mu.Lock()
	c := e.containers[name]
	e.mu.Unlock()
	if c == nil {
		return false
	}
	_, err := c.mainCommand("")
	return err == nil
}

// matches says whether labels are what a filter selects.
func matches(f topology.Filter, labels map[string]string) bool {
	id := topology.IdentityOf(labels)
	return id.Hub != "" && (f.Hub == "" || f.Hub == id.Hub) && (f.Runner == "" || f.Runner == id.Runner) &&
		(f.Job == "" || f.Job == id.Job && f.Attempt == id.Attempt && f.Epoch == id.Epoch)
}
