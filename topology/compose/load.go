package compose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
func Load(ctx context.Context, dir string, spec *topology.Spec) (out *topology.Spec, notes []string, failure *topology.Failure) {
	if len(spec.Compose.Files) == 0 {
		return spec, nil, nil
	}
	if dir == "" {
		return nil, nil, &topology.Failure{
			Class: topology.ClassSource, Message: "compose names files of the source, but the job has none.",
			Hint: "Submit the job with its source: runnerctl submit --source .",
		}
	}
	p, err := open(dir, spec)
	if err == nil {
		defer p.close()
		out, notes, err = p.load(ctx)
	}
	if err == nil {
		return out, notes, nil
	}
	f := &topology.Failure{
		Class:   topology.ClassSpecInvalid,
		Message: fmt.Sprintf("The services of %s cannot be run: %s", strings.Join(spec.Compose.Files, ", "), p.plain(err)),
		Hint:    "docs/topologies.md has every field of Compose and what becomes of it.",
	}
	if errors.Is(err, os.ErrNotExist) {
		f.Class, f.Hint = topology.ClassSource, "Paths are relative to the root of the job's source."
	}
	return nil, nil, f
}

// project is the Compose files of one job.
type project struct {
	spec *topology.Spec
	root *os.Root
	dir  string // absolute, without links
	env  types.Mapping
	skip map[string][]string // field without effect → services
}

func open(dir string, spec *topology.Spec) (*project, error) {
	p := &project{spec: spec, dir: dir, env: types.Mapping{}, skip: map[string][]string{}}
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

// plain leaves the place of the source on the runner's machine out of an error.
func (p *project) plain(err error) string {
	text := strings.ReplaceAll(err.Error(), p.dir+string(filepath.Separator), "")
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
		o.SkipResolveEnvironment, o.SkipResolveLabels = true, true // env files are read by us, inside the source
	}
	dict, err := loader.LoadModelWithContext(ctx, details, options)
	if err != nil {
		return nil, nil, err
	}
	model, err := clone(dict)
	if err != nil {
		return nil, nil, err
	}
	active, err := loader.ModelToProject(dict, loader.ToOptions(&details, []func(*loader.Options){options}), details)
	if err != nil {
		return nil, nil, err
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
