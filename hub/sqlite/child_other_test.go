//go:build !linux

package sqlite

import "errors"

func limitFileSize(uint64) error { return errors.ErrUnsupported }
