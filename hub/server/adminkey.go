package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/identity"
	"github.com/runnerhub/runnerhub/pairing"
)

// bootstrap gives an empty store its first admin and writes the key to DATA/admin.key. The key is on
// disk before the store knows its digest, so that a crash between the two cannot lose it.
func bootstrap(ctx context.Context, ids *identity.Service, store hub.Store, data string, out io.Writer) error {
	path := filepath.Join(data, "admin.key")
	draft := path + ".new"
	if key, err := os.ReadFile(draft); err == nil { // an earlier start ended in the middle
		if _, _, err := store.UserByKey(ctx, hub.Digest(trim(key))); err == nil {
			return publish(draft, path, out)
		}
	}
	key := pairing.New(pairing.APIKey)
	if err := writeSecret(draft, key); err != nil {
		return fmt.Errorf("write the admin's key: %w", err)
	}
	created, err := ids.Bootstrap(ctx, key)
	if err != nil {
		return err
	}
	if !created {
		if err := os.Remove(draft); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return publish(draft, path, out)
}

func publish(draft, path string, out io.Writer) error {
	if err := os.Rename(draft, path); err != nil {
		return fmt.Errorf("write the admin's key: %w", err)
	}
	_, err := fmt.Fprintf(out, "runnerhub made the user %q and the workspace %q; the admin's API key is in %s\n",
		identity.FirstLogin, identity.FirstWorkspace, path)
	return err
}

// writeSecret writes a file that only its owner reads, and waits until it is on disk.
func writeSecret(path, secret string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(secret + "\n")
	return errors.Join(err, f.Sync(), f.Close())
}

func trim(b []byte) string {
	for len(b) > 0 && (b[len(b)-1] == '\n' || b[len(b)-1] == '\r') {
		b = b[:len(b)-1]
	}
	return string(b)
}
