package jsonfile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/runnerhub/runnerhub/runnerctl/jsonfile"
)

type numbers map[string]int

func set(path, name string, n int) error {
	return jsonfile.Update(path, func(all *numbers) error {
		if *all == nil {
			*all = numbers{}
		}
		(*all)[name] = n
		return nil
	})
}

func TestChangesAtOnceAllArrive(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sub", "numbers.json")
	const n = 50
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := set(path, fmt.Sprint(i), i); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var got numbers
	if err := jsonfile.Read(path, &got); err != nil || len(got) != n {
		t.Errorf("%d of %d changes arrived, %v", len(got), n, err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 2 {
		t.Errorf("the folder holds %v, %v; want the file and its lock", left, err)
	}
}

func TestWhatGoesWrongChangesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "numbers.json")
	if err := set(path, "a", 1); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	if err := jsonfile.Update(path, func(all *numbers) error { (*all)["a"] = 2; return refused }); !errors.Is(err, refused) {
		t.Errorf("got %v, want the error of the change", err)
	}
	var got numbers
	if err := jsonfile.Read(path, &got); err != nil || got["a"] != 1 {
		t.Errorf("got %v, %v; want what was there", got, err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := set(path, "a", 3); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a damaged file: %v, want an error that names it", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "{" {
		t.Errorf("a damaged file was overwritten with %q", text)
	}
}
