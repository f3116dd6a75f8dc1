package attempt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/runnerhub/runnerhub/topology"
)

// cacheKey is the key of cache i: the spec's word and, where it names files, the first 40 digits of a hash of their
// paths and contents. Links are passed over, since they may lead anywhere.
func cacheKey(ctx context.Context, root *sourceRoot, i int, k topology.CacheKey) (string, error) {
	if len(k.Files) == 0 {
		return k.Prefix, nil
	}
	if err := root.missing(); err != nil {
		return "", sourceError("The files of a cache's key", err)
	}
	names := map[string]bool{}
	for _, pattern := range k.Files {
		if err := matching(ctx, root.FS(), pattern, names); err != nil {
			return "", sourceError(pattern, err)
		}
	}
	if len(names) == 0 {
		return "", &failureError{topology.Failure{
			Class:   topology.ClassSpecInvalid,
			Message: fmt.Sprintf("No file of the job's source matches %s (cache[%d].key.files).", strings.Join(k.Files, ", "), i),
			Hint:    "Paths are below the source's root. For a key without files write a word alone.",
		}}
	}
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if err := hashFile(sum, root.Root, name); err != nil {
			return "", sourceError(name, err)
		}
	}
	return k.Prefix + "-" + hex.EncodeToString(sum.Sum(nil))[:40], nil
}

// matching adds the files that a pattern matches, or that are in a folder which it matches.
func matching(ctx context.Context, tree fs.FS, pattern string, names map[string]bool) error {
	add := func(name string, d fs.DirEntry) error {
		if d.Type().IsRegular() {
			names[name] = true
		}
		return context.Cause(ctx)
	}
	return doublestar.GlobWalk(tree, pattern, func(name string, d fs.DirEntry) error {
		if !d.IsDir() {
			return add(name, d)
		}
		return fs.WalkDir(tree, name, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return add(name, d)
		})
	}, doublestar.WithNoFollow())
}

// hashFile adds a file so that no two lists of files come to the same bytes.
func hashFile(sum hash.Hash, root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	fmt.Fprintf(sum, "%d:%s%d:", len(name), name, info.Size())
	_, err = io.Copy(sum, f)
	return err
}

// home is the home of the job's user, as the engine tells it the job: HOME of the environment, or what the image's
// list of users says.
func (x *execution) home(ctx context.Context, container, user string) (string, error) {
	if !slices.ContainsFunc(x.spec.Cache, func(c topology.CacheSpec) bool {
		return slices.ContainsFunc(c.Paths, func(p string) bool { return strings.HasPrefix(p, "~/") })
	}) {
		return "/", nil
	}
	home := x.spec.Env["HOME"]
	for _, variable := range x.observed.Images[x.spec.Image].Env {
		if name, value, _ := strings.Cut(variable, "="); name == "HOME" && home == "" {
			home = value
		}
	}
	if home != "" {
		return path.Join("/", home), nil
	}
	passwd, err := x.readFile(ctx, container, "/etc/passwd")
	if err != nil {
		return "", err
	}
	name, _, _ := strings.Cut(user, ":")
	if name == "" {
		name = "0"
	}
	for line := range strings.Lines(passwd) {
		field := strings.Split(strings.TrimSpace(line), ":")
		if len(field) > 5 && (field[0] == name || field[2] == name) {
			return path.Join("/", field[5]), nil
		}
	}
	return "/", nil
}
