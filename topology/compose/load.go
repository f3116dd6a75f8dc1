package compose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"

	"github.com/runnerhub/runnerhub/topology"
)

// projectName stands for COMPOSE_PROJECT_NAME. Names of containers do not come from it.
const projectName = "job"

// Load returns a copy of spec with the services of its Compose files, which are in dir,
// the job's source. Variables in them are those of the job's env. notes are sentences
// for the job's log about what is in the files and has no effect. A spec that names no
// Compose files is returned as it is.
//
// Load ends with ctx, and compose-go, which does not, is left to itself then: the limits
// on what it is given (weight) bound for how long.
func Load(ctx context.Context, dir string, spec *topology.Spec) (out *topology.Spec, notes []string, failure *topology.Failure) {
	if len(spec.Compose.Files) == 0 {
		return spec, nil, nil
	}
	if dir == "" {
		return nil, nil, &topology.Failure{
			Class: topology.ClassSpecInvalid, Message: "compose names files of the source, but the job has none.",
			Hint: "Submit the job with its source: runnerctl submit --source .",
		}
	}
	done := make(chan loaded, 1)
	go func() {
		var l loaded
		defer func() {
			if p := recover(); p != nil { // a panic of compose-go's costs this job and not the others
				l = loaded{failure: refusal(spec, fmt.Sprintf("they make what reads them fail: %v", p))}
			}
			done <- l
		}()
		l = load(ctx, dir, spec)
	}()
	select {
	case l := <-done:
		return l.spec, l.notes, l.failure
	case <-ctx.Done():
		return nil, nil, &topology.Failure{
			Class: topology.ClassCanceled, Message: fmt.Sprintf("The job was ended while its Compose files were read: %v", context.Cause(ctx)),
		}
	}
}

type loaded struct {
	spec    *topology.Spec
	notes   []string
	failure *topology.Failure
}

func load(ctx context.Context, dir string, spec *topology.Spec) (l loaded) {
	p, err := open(dir, spec)
	if err == nil {
		defer p.close()
		l.spec, l.notes, err = p.load(ctx)
	}
	if err == nil {
		return l
	}
	return loaded{failure: refusal(spec, p.plain(err))}
}

// refusal is the failure of files that cannot be run. It is the same on every machine,
// so that it is not retried.
func refusal(spec *topology.Spec, why string) *topology.Failure {
	return &topology.Failure{
		Class:   topology.ClassSpecInvalid,
		Message: fmt.Sprintf("The services of %s cannot be run: %s", strings.Join(spec.Compose.Files, ", "), why),
		Hint:    "docs/topologies.md has every field of Compose and what becomes of it.",
	}
}

// project is the Compose files of one job.
type project struct {
	spec *topology.Spec
	root *os.Root
	dir  string // absolute, without links
	env  types.Mapping
	skip map[string][]string // field without effect → services

	total   weight              // of what compose-go will read, a file as often as it is named
	unknown string              // about the first field of a service that does not exist
	unset   map[string][]string // variable that is empty → files
}

func open(dir string, spec *topology.Spec) (*project, error) {
	p := &project{spec: spec, dir: dir, env: types.Mapping{}, skip: map[string][]string{}, unset: map[string][]string{}}
	maps.Copy(p.env, spec.Env)
	abs, err := filepath.Abs(dir)
	if err != nil {
		return p, err
	}
	if p.dir, err = filepath.EvalSymlinks(abs); err != nil {
		return p, err
	}
	p.root, err = os.OpenRoot(p.dir)
	return p, err
}

func (p *project) close() { _ = p.root.Close() }

// plain leaves the place of the source on the runner's machine out of an error, and the
// words of system calls.
func (p *project) plain(err error) string {
	if missing, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrNotExist) {
		return p.inSource(missing.Path) + " is not in the job's source; paths are relative to the folder of the first Compose file, and inside the source"
	}
	return p.inSource(err.Error())
}

func (p *project) inSource(text string) string {
	text = strings.ReplaceAll(text, p.dir+string(filepath.Separator), "")
	return strings.ReplaceAll(text, p.dir, ".")
}

func (p *project) load(ctx context.Context) (*topology.Spec, []string, error) {
	files := p.spec.Compose.Files
	details := types.ConfigDetails{WorkingDir: filepath.Join(p.dir, path.Dir(files[0])), Environment: p.env}
	for _, name := range files {
		text, err := p.scan(name, path.Dir(files[0]))
		if err != nil {
			return nil, nil, err
		}
		details.ConfigFiles = append(details.ConfigFiles, types.ConfigFile{
			Filename: filepath.Join(p.dir, name), Content: text,
		})
	}
	options := func(o *loader.Options) {
		o.SetProjectName(projectName, true)
		o.Profiles = p.spec.Compose.Profiles
		o.Interpolate.Substitute = quietly
		o.SkipResolveEnvironment, o.SkipResolveLabels = true, true // env files are read by us, inside the source
	}
	dict, err := loader.LoadModelWithContext(ctx, details, options)
	if err != nil {
		return nil, nil, p.explained(err, nil)
	}
	model, err := clone(dict)
	if err != nil {
		return nil, nil, err
	}
	active, err := loader.ModelToProject(dict, loader.ToOptions(&details, []func(*loader.Options){options}), details)
	if err != nil {
		return nil, nil, p.explained(err, model)
	}
	services, err := p.convert(model, active.Services)
	if err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(services)
	if err != nil {
		return nil, nil, err
	}
	out, err := p.spec.WithServices(text)
	return out, p.notes(), err
}

// object is a mapping of the model.
type object = map[string]any

// clone copies the model as JSON has it. Numbers stay as they are written.
func clone(dict object) (object, error) {
	text, err := json.Marshal(dict)
	if err != nil {
		return nil, err
	}
	var out object
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	err = decoder.Decode(&out)
	return out, err
}
