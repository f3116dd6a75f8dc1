package keyring

import (
	"errors"
	"io/fs"

	"github.com/runnerhub/runnerhub/runnerctl/jsonfile"
)

// file keeps secrets in a JSON file with mode 0600.
type file struct{ path string }

// OpenFile returns the storage in a file, which is made at the first Set.
func OpenFile(path string) Store { return file{path} }

func (file) Kind() Kind      { return File }
func (f file) Where() string { return f.path }

func (f file) Get(name string) (string, error) {
	if err := f.private(); err != nil {
		return "", err
	}
	var all map[string]string
	if err := jsonfile.Read(f.path, &all); err != nil {
		return "", err
	}
	secret, ok := all[name]
	if !ok {
		return "", ErrNotFound
	}
	return secret, nil
}

func (f file) Set(name, secret string) error {
	return f.update(func(all map[string]string) { all[name] = secret })
}

func (f file) Delete(name string) error {
	if _, err := f.Get(name); err != nil {
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		return err
	}
	return f.update(func(all map[string]string) { delete(all, name) })
}

func (f file) update(change func(map[string]string)) error {
	return jsonfile.Update(f.path, func(all *map[string]string) error {
		if err := f.private(); err != nil {
			return err
		}
		if *all == nil {
			*all = map[string]string{}
		}
		change(*all)
		return nil
	})
}

// private refuses a file that others can read; one that is not there is private.
func (f file) private() error {
	if err := private(f.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
