package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/docker/go-units"

	"github.com/runnerhub/runnerhub/runnerctl/archive"
)

// archive fetches the archive of a source, checks its digest and unpacks it into
// tree. Nothing is unpacked before all has been checked.
func (f *Fetcher) archive(ctx context.Context, r request, tree string) error {
	if f.Open == nil || r.ticket == "" {
		return problemf("Update the hub: it must be at least as new as the runner.", "The hub sent no ticket for the job's source archive.")
	}
	begin := time.Now()
	packed, err := os.OpenFile(filepath.Join(r.dir, "source.tar.zst"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(packed.Name())
	defer packed.Close()
	size, err := f.downloadPatiently(ctx, r, packed)
	if err != nil {
		return err
	}
	if _, err := packed.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := archive.Unpack(ctx, packed, tree, f.Limits); err != nil {
		return err
	}
	r.say(fmt.Sprintf("Unpacked the source (%s) in %s", units.BytesSize(float64(size)), time.Since(begin).Round(time.Millisecond)))
	return nil
}

// Refused is an error of Fetcher.Open's after which another try is of no use.
type Refused struct{ Err error }

// Error is the cause's.
func (e *Refused) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Refused) Unwrap() error { return e.Err }

// downloadTries is how often an archive is asked for when its bytes do not arrive.
const downloadTries = 6

// downloadPatiently downloads the archive, from the beginning again when the network or the hub breaks it off.
func (f *Fetcher) downloadPatiently(ctx context.Context, r request, to *os.File) (int64, error) {
	for try := 1; ; try++ {
		size, err := f.download(ctx, r, to)
		_, refused := errors.AsType[*Refused](err)
		_, known := errors.AsType[*problem](err)
		_, write := errors.AsType[*fs.PathError](err)
		if err == nil || refused || known || write || ctx.Err() != nil {
			return size, err
		}
		if try == downloadTries {
			return size, problemf("See whether the runner's machine reaches the hub: `runnerctl status`.", "The source archive did not arrive: %v", err)
		}
		r.say(fmt.Sprintf("The source archive did not arrive (%v); trying again", err))
		select {
		case <-time.After(time.Second << (try - 1)):
		case <-ctx.Done():
			return size, context.Cause(ctx)
		}
		if _, err := to.Seek(0, io.SeekStart); err != nil {
			return size, err
		}
		if err := to.Truncate(0); err != nil {
			return size, err
		}
	}
}

// download writes the archive into a file and holds it to its digest.
func (f *Fetcher) download(ctx context.Context, r request, to io.Writer) (int64, error) {
	body, err := f.Open(ctx, r.ticket)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	limits := f.Limits.WithDefaults()
	sum := sha256.New()
	size, err := io.Copy(io.MultiWriter(to, sum), io.LimitReader(body, limits.Bytes+1))
	switch {
	case ctx.Err() != nil:
		return size, context.Cause(ctx)
	case err != nil:
		return size, err
	case size > limits.Bytes: // it is compressed, so that nothing that fits is as large
		return size, problemf("Pack less.", "The source archive is larger than %s, which is the runner's limit.", units.BytesSize(float64(limits.Bytes)))
	}
	return size, checkSum(sum, r.source.Archive)
}

func checkSum(sum hash.Hash, want string) error {
	if got := "sha256:" + hex.EncodeToString(sum.Sum(nil)); got != want {
		return problemf("Submit the job again.", "The source archive that arrived is not the one that the job names: it is %s and not %s.", got, want)
	}
	return nil
}
