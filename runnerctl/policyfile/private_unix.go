//go:build unix

package policyfile

import (
	"fmt"
	"io/fs"
)

// private refuses a policy that others may write: it would not be the owner's.
func private(path string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("others may write the policy %s; take that away with: chmod go-w %s", path, path)
	}
	return nil
}
