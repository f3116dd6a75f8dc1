//go:build linux

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// volume holds the log bytes of all hubs and can be made to take no more: as root it is a small file system that is
// filled up, else a folder that is closed.
type volume struct {
	dir     string
	mounted bool
}

func newVolume(t *testing.T, dir string) *volume {
	t.Helper()
	v := &volume{dir: dir}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=192m,mode=0700"); err != nil {
			t.Fatalf("mount a small file system for the logs: %v; run as a user who is not root where that is not allowed", err)
		}
		v.mounted = true
		t.Cleanup(func() {
			if err := syscall.Unmount(dir, 0); err != nil {
				t.Errorf("unmount %s: %v", dir, err)
			}
		})
	}
	return v
}

// fill leaves no room.
func (v *volume) fill() error {
	if !v.mounted {
		return v.chmod(0o500)
	}
	f, err := os.OpenFile(v.ballast(), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	at, err := f.Seek(0, 2)
	if err != nil {
		return err
	}
	for piece := int64(16 << 20); piece >= 4<<10; { // what is left is less than the smallest file
		switch err := syscall.Fallocate(int(f.Fd()), 0, at, piece); {
		case err == nil:
			at += piece
		case errors.Is(err, syscall.ENOSPC):
			piece /= 2
		case !errors.Is(err, syscall.EINTR):
			return err
		}
	}
	return nil
}

// free gives the room back.
func (v *volume) free() error {
	if !v.mounted {
		return v.chmod(0o700)
	}
	if err := os.Remove(v.ballast()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (v *volume) ballast() string { return filepath.Join(v.dir, "ballast") }

// chmod changes all folders, the deepest last to be opened and first to be closed.
func (v *volume) chmod(mode fs.FileMode) error {
	if err := os.Chmod(v.dir, 0o700); err != nil {
		return err
	}
	return filepath.WalkDir(v.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || path == v.dir {
			return err
		}
		return os.Chmod(path, mode)
	})
}
