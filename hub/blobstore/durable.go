package blobstore

import (
	"os"
	"path/filepath"
	"sync"
)

// maxFolders bounds how many folders are remembered.
const maxFolders = 4096

// durable makes what is written to the bucket's folder outlast a loss of power, as the store's rows that name it do.
type durable struct {
	root string
	file func(*os.File) error // flushes a file
	dir  func(string) error   // flushes the names in a folder

	mu    sync.Mutex
	known map[string]bool // folders whose own names are on disk
}

func newDurable(root string) *durable {
	return &durable{root: root, file: (*os.File).Sync, dir: syncDir, known: map[string]bool{}}
}

// names writes the names in a folder to disk, and its own and those of the folders above it that may have been made for it.
func (d *durable) names(folder string) error {
	var made []string
	for dir := folder; ; dir = filepath.Dir(dir) {
		if err := d.dir(dir); err != nil {
			return err
		}
		if dir == d.root || dir == filepath.Dir(dir) || d.knows(dir) {
			break
		}
		made = append(made, dir)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known) > maxFolders {
		clear(d.known)
	}
	for _, dir := range made {
		d.known[dir] = true
	}
	return nil
}

func (d *durable) knows(dir string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known[dir]
}

// forget is told of folders that are removed: made anew, they are others.
func (d *durable) forget(dirs []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, dir := range dirs {
		delete(d.known, dir)
	}
}
