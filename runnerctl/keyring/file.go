package keyring

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// file keeps secrets in a JSON file with mode 0600.
type file struct{ path string }

// OpenFile returns the storage in a file, which is made at the first Set.
func OpenFile(path string) Store { return file{path} }

func (file) Kind() Kind      { return File }
func (f file) Where() string { return f.path }

func (f file) Get(name string) (string, error) {
	all, err := f.read()
	if err != nil {
		return "", err
	}
	secret, ok := all[name]
	if !ok {
		return "", ErrNotFound
	}
	return secret, nil
}

func (f file) Set(name, secret string) error {
	all, err := f.read()
	if err != nil {
		return err
	}
	all[name] = secret
	return f.write(all)
}

func (f file) Delete(name string) error {
	all, err := f.read()
	if err != nil {
		return err
	}
	if _, ok := all[name]; !ok {
		return nil
	}
	delete(all, name)
	return f.write(all)
}

func (f file) read() (map[string]string, error) {
	all := map[string]string{}
	data, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	if err := private(f.path); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", f.path, err)
	}
	return all, nil
}

// write replaces the file as a whole: a crash leaves the old one or the new one.
func (f file) write(all map[string]string) error {
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	dir := filepath.Dir(f.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".credentials-*") // CreateTemp makes files with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // it is gone when the rename went well
	_, err = tmp.Write(append(data, '\n'))
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), f.path)
}
