package cache

import "errors"

// evict removes the entries that were used longest ago until those that are left have no more than size bytes. It says
// how many they have then, which is more where remove did not remove enough. all is in the order of use, the last used
// first.
func evict(all []Entry, size int64, remove func(Entry) bool) (left int64) {
	for _, e := range all {
		left += e.Stored
	}
	for i := len(all) - 1; i >= 0 && left > size; i-- {
		if remove(all[i]) {
			left -= all[i].Stored
		}
	}
	return left
}

// room makes room for so many bytes, and says whether there is. It wants the lock held.
func (s *Store) room(bytes int64) (bool, error) {
	all, broken, err := s.scan()
	if err != nil {
		return false, err
	}
	for _, dir := range broken {
		if err := s.remove(dir); err != nil && !errors.Is(err, errInUse) {
			return false, err
		}
	}
	left := evict(all, s.o.Size-bytes, func(e Entry) bool {
		removeErr := s.removeEntry(e)
		if removeErr != nil && !errors.Is(removeErr, errInUse) {
			err = removeErr
		}
		return removeErr == nil
	})
	return left+bytes <= s.o.Size, err
}
