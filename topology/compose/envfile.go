package compose

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"

	"github.com/compose-spec/compose-go/v2/dotenv"
)

// environment gives a service its variables: those of its env files, in their order,
// then its own. A name without a value is one of the job's env, or none.
func (p *project) environment(s object) error {
	vars := map[string]string{}
	for _, item := range list(s["env_file"]) {
		m, ok := item.(object)
		if !ok {
			m = object{"path": item}
		}
		more, err := p.envFile(m, vars)
		if err != nil {
			return fmt.Errorf("env_file: %w", err)
		}
		maps.Copy(vars, more)
	}
	delete(s, "env_file")
	maps.Copy(vars, pairs(s["environment"]))
	delete(s, "environment")
	if len(vars) > 0 {
		s["environment"] = vars
	}
	return nil
}

func (p *project) envFile(m object, before map[string]string) (map[string]string, error) {
	name, err := p.rel(text(m["path"]))
	if err != nil {
		return nil, err
	}
	data, err := p.read(name)
	if errors.Is(err, fs.ErrNotExist) && m["required"] == false {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if format := text(m["format"]); format != "" {
		return nil, fmt.Errorf("the format %q is not supported", format)
	}
	known := func(name string) int64 {
		largest := p.sizeOf(name)
		for other, v := range before {
			if name == "" || name == other {
				largest = max(largest, int64(len(v)))
			}
		}
		return largest
	}
	if err := weighEnv(data, known); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return dotenv.ParseWithLookup(bytes.NewReader(data), lookup(p.env, before))
}

func lookup(sets ...map[string]string) dotenv.LookupFn {
	return func(name string) (string, bool) {
		for _, set := range sets {
			if v, ok := set[name]; ok {
				return v, true
			}
		}
		return "", false
	}
}
