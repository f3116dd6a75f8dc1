package agent

import (
	"os"
	"sync/atomic"
	"syscall"
)

// FailWritesAfter makes the spool's disk full after n writes.
func (c *Config) FailWritesAfter(n int64) {
	var done atomic.Int64
	c.spoolWrite = func(f *os.File, b []byte) (int, error) {
		if done.Add(1) <= n {
			return f.Write(b)
		}
		some, _ := f.Write(b[:len(b)/2]) // a full disk takes what still fits
		return some, &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
	}
}

// BeforeWrite has f called before each write to the spool.
func (c *Config) BeforeWrite(f func()) {
	c.spoolWrite = func(file *os.File, b []byte) (int, error) {
		f()
		return file.Write(b)
	}
}
