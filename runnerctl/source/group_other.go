//go:build !unix

package source

import "os/exec"

// ownGroup does nothing where there are no process groups: the children end when
// the pipes to git are closed.
func ownGroup(*exec.Cmd) {}
