package docker

import "syscall"

// freeOf is the room on the file system that a directory is on, in bytes, -1 if it
// cannot be seen. Where no file can be added for want of inodes there is none.
func freeOf(dir string) int64 {
	var fs syscall.Statfs_t
	if syscall.Statfs(dir, &fs) != nil {
		return -1
	}
	if fs.Files > 0 && fs.Ffree == 0 {
		return 0
	}
	return int64(fs.Bavail) * fs.Bsize
}
