// Package jsonfile keeps small JSON files that several commands read and change at once, each only for its user.
package jsonfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/runnerhub/runnerhub/runnerctl/atomicfile"
)

// Read decodes a file into v; a file that is not there leaves v as it is. It needs no lock: Update
// replaces files as a whole.
func Read(path string, v any) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s is damaged: %w; mend or remove it", path, err)
	}
	return nil
}

// Update reads a file, changes what is in it and replaces it, with mode 0600 in a folder with mode 0700. No other
// Update comes between, also of another process. A crash leaves the old file or the new one. An error of
// change is returned as it is, and the file stays.
func Update[T any](path string, change func(*T) error) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	unlock, err := lockedfile.MutexAt(path + ".lock").Lock()
	if err != nil {
		return fmt.Errorf("lock %s: %w", path, err)
	}
	defer unlock()
	var v T
	if err := Read(path, &v); err != nil {
		return err
	}
	if err := change(&v); err != nil {
		return err
	}
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(path, append(data, '\n'), 0o600)
}
