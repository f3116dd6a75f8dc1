package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/identity"
	"github.com/runnerhub/runnerhub/pairing"
)

// bootstrap gives an empty store its first admin and writes the key to DATA/admin.key. The key is on
// disk before the store knows its digest, so that a crash between the two cannot lose it. The draft has a name of its
// own: hubs that share the folder and the store may start at once, and one of them makes the admin.
func bootstrap(ctx context.Context, ids *identity.Service, store hub.Store, data string, out io.Writer) error {
	path := filepath.Join(data, "admin.key")
	drafts, err := filepath.Glob(path + ".new*")
	if err != nil {
		return err
	}
	for _, draft := range drafts { // of an earlier start that ended in the middle, or of a hub that is starting now
		key, err := os.ReadFile(draft)
		if err != nil {
			continue
		}
		if _, _, err := store.UserByKey(ctx, hub.Digest(strings.TrimSpace(string(key)))); err == nil {
			return publish(draft, path, out)
		}
	}
	// A store that has its admin is served also when nothing more can be written to the disk.
	if _, err := store.UserByLogin(ctx, identity.FirstLogin); err == nil {
		return nil
	}
	key := pairing.New(pairing.APIKey)
	draft, err := writeSecret(path+".new-*", key)
	if err != nil {
		return fmt.Errorf("write the admin's key: %w", err)
	}
	created, err := ids.Bootstrap(ctx, key)
	if err != nil {
		return err
	}
	if !created {
		return os.Remove(draft)
	}
	return publish(draft, path, out)
}

func publish(draft, path string, out io.Writer) error {
	err := os.Rename(draft, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the hub that wrote it has published it
	}
	if err != nil {
		return fmt.Errorf("write the admin's key: %w", err)
	}
	_, err = fmt.Fprintf(out, "runnerhub made the user %q and the workspace %q; the admin's API key is in %s\n",
		identity.FirstLogin, identity.FirstWorkspace, path)
	return err
}

// writeSecret writes a new file that only its owner reads, and waits until it is on disk. The last * of the
// pattern becomes something unique.
func writeSecret(pattern, secret string) (path string, err error) {
	f, err := os.CreateTemp(filepath.Dir(pattern), filepath.Base(pattern))
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(secret + "\n")
	return f.Name(), errors.Join(err, f.Sync(), f.Close())
}
