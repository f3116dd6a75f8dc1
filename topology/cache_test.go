package topology_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/topology"
)

func TestCacheProblems(t *testing.T) {
	t.Parallel()
	const before = "image: a\ncache: "
	runProblemTests(t, map[string]problemTest{
		"no list":            {before + "{key: b, paths: [c]}", topology.ProblemType, `line 2, column 8: cache: must be a list, not a mapping`},
		"no key":             {before + "[{paths: [c]}]", topology.ProblemMissing, `line 2, column 9: cache[0].key: missing; for example "key: {prefix: go, files: [go.sum]}"`},
		"no paths":           {before + "[{key: b}]", topology.ProblemMissing, `line 2, column 9: cache[0].paths: missing; they are the folders to keep, for example "~/.cache/go-build"`},
		"interpolation":      {before + "[{key: 'go-${{ hashFiles(1) }}', paths: [c]}]", topology.ProblemInvalid, `line 2, column 15: cache[0].key: not a key: "go-${{ hashFiles(1) }}"; nothing is interpolated in a spec: for a hash of files write "key: {prefix: go, files: [go.sum]}"`},
		"a space":            {before + "[{key: b c, paths: [d]}]", topology.ProblemInvalid, `line 2, column 15: cache[0].key: not a key: "b c"; it has up to 128 letters, digits and . _ - + @ : / and begins with a letter or a digit`},
		"no prefix":          {before + "[{key: {files: b}, paths: [c]}]", topology.ProblemMissing, `line 2, column 10: cache[0].key.prefix: missing; it is what the key begins with, for example "go"`},
		"no files":           {before + "[{key: {prefix: b}, paths: [c]}]", topology.ProblemMissing, `line 2, column 10: cache[0].key.files: missing; a key without files is a word alone: "key: tools-v1"`},
		"files elsewhere":    {before + "[{key: b, files: [c], paths: [d]}]", topology.ProblemUnknownField, `line 2, column 18: cache[0].files: unknown field; it belongs under "key": "key: {prefix: go, files: [go.sum]}"`},
		"restore-keys":       {before + "[{key: b, restore-keys: [c], paths: [d]}]", topology.ProblemUnknownField, `line 2, column 18: cache[0].restore-keys: unknown field; did you mean "restore"?`},
		"all of it":          {before + "[{key: b, paths: [/]}]", topology.ProblemInvalid, `line 2, column 26: cache[0].paths[0]: "/" is too much to keep; name folders in it`},
		"the workspace":      {before + "[{key: b, paths: [./]}]", topology.ProblemInvalid, `line 2, column 26: cache[0].paths[0]: "./" is too much to keep; name folders in it`},
		"the home":           {before + "[{key: b, paths: ['~']}]", topology.ProblemInvalid, `line 2, column 26: cache[0].paths[0]: "~" is too much to keep; name folders in it`},
		"another's home":     {before + "[{key: b, paths: ['~c/d']}]", topology.ProblemInvalid, `line 2, column 26: cache[0].paths[0]: no home of another user: "~c/d"; write /PATH, ~/PATH for the home of the job's user, or a path below the working directory`},
		"up":                 {before + "[{key: b, paths: [c/../../d]}]", topology.ProblemInvalid, `line 2, column 26: cache[0].paths[0]: a path goes nowhere up: "c/../../d"; write /PATH, ~/PATH for the home of the job's user, or a path below the working directory`},
		"a pattern":          {before + "[{key: b, paths: ['c/*']}]", topology.ProblemInvalid, `line 2, column 26: cache[0].paths[0]: a path stands for itself: "c/*"; there are no patterns and no variables here: name the folder that holds what you need`},
		"Windows":            {before + "[{key: b, paths: ['C:\\c']}]", topology.ProblemInvalid, `line 2, column 26: cache[0].paths[0]: not a path in a container: "C:\\c"; write /PATH, ~/PATH for the home of the job's user, or a path below the working directory`},
		"a control":          {before + `[{key: b, paths: ["c\td"]}]`, topology.ProblemInvalid, `line 2, column 26: cache[0].paths[0]: a path has no control characters: "c\td"`},
		"the kernel's":       {before + "[{key: b, paths: [/proc/self]}]", topology.ProblemInvalid, `line 2, column 26: cache[0].paths[0]: /proc is the kernel's and cannot be kept`},
		"one in another":     {before + "[{key: b, paths: [c/d]}, {key: e, paths: [/workspace/c]}]", topology.ProblemConflict, `line 2, column 50: cache[1].paths[0]: "/workspace/c" is also in "c/d", on line 2, column 26; name each folder once`},
		"one twice":          {before + "[{key: b, paths: ['~/c', '~/c/']}]", topology.ProblemConflict, `line 2, column 33: cache[0].paths[1]: "~/c" is also in "~/c", on line 2, column 26; name each folder once`},
		"a lonely beginning": {before + "[{key: b, restore: ['-'], paths: [c]}]", topology.ProblemInvalid, `line 2, column 28: cache[0].restore[0]: not a key: "-"; it has up to 128 letters, digits and . _ - + @ : / and begins with a letter or a digit`},
	})
}

func TestCacheIsRead(t *testing.T) {
	t.Parallel()
	spec, err := topology.Parse([]byte(`
image: a
working_dir: /srv/app
cache:
  - key: {prefix: go-1.26, files: [go.sum, "**/go.mod"]}
    restore: [go-1.26-, go-]
    paths: [~/go/pkg/mod/, /var/cache/x, ./.tools]
  - {key: 1.10, restore: "1.", paths: [a b], read_only: true}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []topology.CacheSpec{
		{
			Key: topology.CacheKey{Prefix: "go-1.26", Files: []string{"go.sum", "**/go.mod"}}, Restore: []string{"go-1.26-", "go-"},
			Paths: []string{"~/go/pkg/mod", "/var/cache/x", ".tools"},
		},
		{Key: topology.CacheKey{Prefix: "1.10"}, Restore: []string{"1."}, Paths: []string{"a b"}, ReadOnly: true},
	}
	if diff := cmp.Diff(want, spec.Cache); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]string{
		"~/go": "/home/me/go", "/var/x": "/var/x", ".tools": "/srv/app/.tools",
	} {
		if got := spec.CachePath(name, "/home/me"); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if got := spec.UsesSource(); got != "cache[0].key" {
		t.Errorf("%q needs a source", got)
	}
}
