//go:build unix

package source

import (
	"os/exec"
	"syscall"
)

// ownGroup has a command and its children end together: git leaves the transfer to others.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
