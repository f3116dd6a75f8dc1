package host

import (
	"context"
	"io/fs"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// DiskUsage walks through the folders of containers and sums up what their files take on disk.
func (e *Engine) DiskUsage(ctx context.Context, names []string) (map[string]int64, error) {
	const op = "measure the jobs' files"
	used := map[string]int64{}
	for _, name := range names {
		c, err := e.find(ctx, op, name)
		if ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			continue
		}
		used[name] = treeSize(ctx, c.root)
	}
	return used, ended(ctx, op)
}

// blockSize is the unit of st_blocks.
const blockSize = 512

// treeSize is what a folder's files take on disk, each counted once however many names it has. What cannot be
// looked at, or goes meanwhile, is left out.
func treeSize(ctx context.Context, dir string) (sum int64) {
	type file struct{ device, inode uint64 }
	seen := map[file]bool{}
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, _ error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if d == nil {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // it has gone
		}
		s, ok := info.Sys().(*syscall.Stat_t)
		if !ok || s.Mode&unix.S_IFMT == unix.S_IFBLK {
			return nil
		}
		if s.Nlink > 1 && !d.IsDir() {
			id := file{s.Dev, s.Ino}
			if seen[id] {
				return nil
			}
			seen[id] = true
		}
		sum += s.Blocks * blockSize
		return nil
	})
	return sum
}
