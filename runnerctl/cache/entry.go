package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// Entry is what is known of an entry.
type Entry struct {
	ID string `json:"id"`
	topology.CacheID
	Hub     string    `json:"hub"`
	Owner   string    `json:"owner"` // workspace and person, by their ids on the hub
	Job     string    `json:"job"`   // that saved it
	Created time.Time `json:"created"`
	Used    time.Time `json:"used,omitzero"` // last
	Bytes   int64     `json:"bytes"`         // of its files
	Stored  int64     `json:"stored_bytes"`  // on disk, compressed
	SHA256  string    `json:"sha256"`        // of what is on disk, in hexadecimal
}

// idOf names an entry by all that makes it the one that a job may have.
func idOf(hub, owner string, id topology.CacheID) string {
	text, err := json.Marshal(struct {
		Hub, Owner string
		ID         topology.CacheID
	}{hub, owner, id})
	if err != nil {
		panic(err) // of strings there is none
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

func newEntry(s *scope, id topology.CacheID) Entry {
	return Entry{ID: idOf(s.hub, s.owner, id), CacheID: id, Hub: s.hub, Owner: s.owner, Job: s.job, Created: s.store.o.Now().UTC()}
}

// alike says whether two entries could stand for each other but for their keys.
func (e Entry) alike(o Entry) bool {
	o.Key = e.Key
	return e.Hub == o.Hub && e.Owner == o.Owner && idOf("", "", e.CacheID) == idOf("", "", o.CacheID)
}

// load reads what an entry is, and holds it to its name and its size. The error is fs.ErrNotExist where there is
// none; any other is of one that is damaged.
func load(dir string) (Entry, error) {
	if _, err := os.Stat(dir); err != nil {
		return Entry{}, err
	}
	e, err := describe(dir)
	if err != nil {
		return e, fmt.Errorf("%v", err) //nolint:errorlint // a part that does not exist is a damage
	}
	return e, nil
}

func describe(dir string) (e Entry, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "entry.json"))
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return e, err
	}
	info, err := os.Stat(filepath.Join(dir, "data"))
	if err != nil {
		return e, err
	}
	if id := idOf(e.Hub, e.Owner, e.CacheID); e.ID != id || filepath.Base(dir) != id || info.Size() != e.Stored {
		return e, fmt.Errorf("%s is not what its entry.json says", dir)
	}
	e.Used = info.ModTime()
	return e, nil
}

// scan lists the entries, the one that was used last first, and the folders that are none. It wants the lock held.
func (s *Store) scan() (all []Entry, broken []string, err error) {
	list, err := os.ReadDir(s.entries())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, nil
	}
	for _, d := range list {
		dir := filepath.Join(s.entries(), d.Name())
		e, err := load(dir)
		if err != nil {
			broken = append(broken, dir)
			continue
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b Entry) int { return b.Used.Compare(a.Used) })
	return all, broken, err
}

// errInUse is an entry that is being read, or written.
var errInUse = errors.New("it is in use")

// remove removes an entry, so that it is there or gone for all who look, however the process ends. It wants the lock
// held. A folder that is not there is no error.
func (s *Store) remove(dir string) error {
	data, err := os.OpenFile(filepath.Join(dir, "data"), os.O_RDWR, 0)
	switch {
	case err == nil:
		err = lockAlone(data)
		_ = data.Close() // there is nobody else who could lock it meanwhile
		if err != nil {
			return err
		}
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	if filepath.Dir(dir) == s.entries() {
		if err := os.MkdirAll(s.fresh(), 0o700); err != nil {
			return err
		}
		gone := filepath.Join(s.fresh(), "gone-"+topology.NewTag())
		if err := os.Rename(dir, gone); err != nil {
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			return err
		}
		dir = gone
	}
	return os.RemoveAll(dir)
}
