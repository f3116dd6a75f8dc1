package download

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/runnerhub/runnerhub/mcp"
)

// outcome is what became of the files of one download.
type outcome struct {
	bytes  int64   // of those that are there
	failed []error // of each file that is not
}

// ownFault says whether an error is one file's own. Others would be met by every file that follows: a hub that is away, a
// key that is not taken any more, a disk without room.
func ownFault(ctx context.Context, err error) bool {
	if ctx.Err() != nil || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS) {
		return false
	}
	e, ok := errors.AsType[*mcp.Error](err)
	return !ok || e.Code == mcp.CodeConflict || e.Code == mcp.CodeNotFound
}

// err is the command's own error, of so many files that were wanted: with one code where all failures have the same one,
// and with what each kind of failure advises.
func (o outcome) err(of int) error {
	if len(o.failed) == 0 {
		return nil
	}
	if of == 1 {
		return o.failed[0]
	}
	message := fmt.Sprintf("%d of %d files could not be downloaded", len(o.failed), of)
	var codes []mcp.Code
	var hints []string
	for _, err := range o.failed {
		code := mcp.Code("")
		if e, ok := errors.AsType[*mcp.Error](err); ok {
			code = e.Code
			if e.Hint != "" && !slices.Contains(hints, e.Hint) {
				hints = append(hints, e.Hint)
			}
		}
		codes = append(codes, code)
	}
	slices.Sort(codes)
	codes = slices.Compact(codes)
	if codes[0] == "" && len(codes) == 1 {
		return errors.New(message)
	}
	code := mcp.CodeConflict
	if len(codes) == 1 {
		code = codes[0]
	}
	return &mcp.Error{Code: code, Message: message, Hint: strings.Join(hints, "; ")}
}
