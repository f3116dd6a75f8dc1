package topology_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/topology"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

func TestParseSource(t *testing.T) {
	t.Parallel()
	want := &topology.Source{
		Files: map[string]topology.SourceFile{
			"run.sh":         {Content: "#!/bin/sh\necho hi\n", Mode: "0755"},
			"conf/app.toml":  {Content: "version = 1.10\n"},
			"conf/.empty":    {},
			"secret of mine": {Content: "1.10", Mode: "0600"},
		},
		Repository: "https://git.example/team/app.git", Commit: commit, Submodules: true, LFS: true, Path: "services/app",
	}
	if diff := cmp.Diff(want, parseFile(t, "source.yaml").Source); diff != "" {
		t.Error(diff)
	}
	if p := want.Files["run.sh"].Perm(); p != 0o755 {
		t.Errorf("run.sh has %o", p)
	}
	if p := want.Files["conf/app.toml"].Perm(); p != 0o644 {
		t.Errorf("conf/app.toml has %o", p)
	}
}

func TestRepositories(t *testing.T) {
	t.Parallel()
	good := []string{
		"https://git.example/app", "http://127.0.0.1:8080/a/b.git", "https://[::1]/app.git", "ssh://git@git.example/~me/app",
		"ssh://git.example:2222/app", "git@git.example:team/app.git", "git@git.example:~me/app", "git@git.example:/srv/app",
	}
	for _, url := range good {
		if _, err := topology.Parse([]byte(`{"image": "a", "source": {"repository": "` + url + `", "commit": "` + commit + `"}}`)); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	bad := []string{
		"--upload-pack=touch /tmp/x", "--upload-pack=x", "-x", "ext::sh -c touch% /tmp/x", "ext::x", "fd::17", "file:///etc", "/etc", "../up", "app",
		"https://-oProxyCommand=x/app", "ssh://-oProxyCommand=x/app", "-oProxyCommand=x@host:app", "git@-oProxyCommand=x:app", "git@host:-x",
		"ssh://-x@host/app", "ssh://host/-x", "https://host", "https://host/", "https:///app", "https:app", "https://user:secret@host/app",
		"https://token@host/app", "ssh://u:p@host/app", "https://host/app?x", "https://host/app#x", "git://host/app", "ftp://host/app",
		"https://ho st/app", "https://host/a\\u0007b", "https://host/\\n--x", "https://host%00/app", "user@host", "https::x",
		"https://host/acme/../evil/x", "https://host/acme/./x", "https://host/acme//x", "https://host//x", "https://host/..", "https://host/a/%2e%2e/x",
		"https://host/acme%2fx", "https://host/acme%5cx", "https://host/%61cme/x", `https://host/acme\\x`, "ssh://host/~me/../you/x", "git@host:acme/../evil/x", "git@host:../x",
		"git@host:a//b",
	}
	for _, url := range bad {
		_, err := topology.Parse([]byte(`{"image": "a", "source": {"repository": "` + url + `", "commit": "` + commit + `"}}`))
		if err == nil || !strings.Contains(err.Error(), "source.repository: ") {
			t.Errorf("%s: %v", url, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error repeats a credential: %v", err)
		}
	}
}

func TestSourceProblems(t *testing.T) {
	t.Parallel()
	in := func(source string) string { return "image: a\nsource:\n  " + source }
	repo := "repository: https://git.example/app\n  "
	full := repo + "commit: " + commit + "\n  "
	runProblemTests(t, map[string]problemTest{
		"nothing":                 {"image: a\nsource: {}", topology.ProblemMissing, `line 2, column 1: source: names no source; it takes "files", a "repository" with its "commit", or an "archive"`},
		"text":                    {"image: a\nsource: .", topology.ProblemType, `line 2, column 9: source: must be a mapping (name: value), not text`},
		"no commit":               {in(repo), topology.ProblemMissing, `line 2, column 1: source.commit: missing: a job runs what was meant when it was submitted; name the commit in full: git rev-parse HEAD`},
		"short commit":            {in(repo + "commit: abc123"), topology.ProblemInvalid, `line 4, column 11: source.commit: not the full id of a commit: "abc123"; it has 40 or 64 digits of 0-9 and a-f: git rev-parse HEAD`},
		"option for a commit":     {in(repo + "commit: --exec=x"), topology.ProblemInvalid, `line 4, column 11: source.commit: not the full id of a commit: "--exec=x"; it has 40 or 64 digits of 0-9 and a-f: git rev-parse HEAD`},
		"a branch":                {in(full + "branch: main"), topology.ProblemUnsupported, "line 5, column 3: source.branch: not supported; write \"commit\": a branch can move between submit and run"},
		"two sources":             {in(full + "archive: sha256:" + strings.Repeat("a", 64)), topology.ProblemConflict, `line 5, column 3: source.archive: repository and archive exclude each other; name the one that the job starts from`},
		"a commit of nothing":     {in("commit: " + commit + "\n  files: {a: b}"), topology.ProblemConflict, `line 3, column 3: source.commit: commit belongs to a repository; name it with "repository"`},
		"bad digest":              {in("archive: sha256:abc"), topology.ProblemInvalid, `line 3, column 12: source.archive: not the digest of an archive: "sha256:abc"; it is "sha256:" and 64 digits; runnerctl submit --source fills it in`},
		"path out":                {in(full + "path: ../up"), topology.ProblemInvalid, `line 5, column 9: source.path: must stay in the workspace, in its shortest form: "../up"; without "." and ".." and without a / at the end`},
		"absolute file":           {in("files: {/etc/passwd: x}"), topology.ProblemInvalid, `line 3, column 11: source.files["/etc/passwd"]: must be relative to the workspace: "/etc/passwd"`},
		"file above":              {in("files: {a/../../b: x}"), topology.ProblemInvalid, `line 3, column 11: source.files["a/../../b"]: must stay in the workspace, in its shortest form: "a/../../b"; without "." and ".." and without a / at the end`},
		"backslashes":             {in(`files: {'a\b': x}`), topology.ProblemInvalid, `line 3, column 11: source.files["a\\b"]: a path has no backslashes: "a\\b"; separate folders with /`},
		"a drive":                 {in(`files: {'C:/x': x}`), topology.ProblemInvalid, `line 3, column 11: source.files["C:/x"]: must be relative to the workspace: "C:/x"`},
		"the workspace itself":    {in(`files: {.: x}`), topology.ProblemInvalid, `line 3, column 11: source.files["."]: must stay in the workspace, in its shortest form: "."; without "." and ".." and without a / at the end`},
		"a name too long":         {in(`files: {` + strings.Repeat("n", 256) + `: x}`), topology.ProblemInvalid, `line 3, column 11: source.files["` + strings.Repeat("n", 64) + `…"]: a name in it is longer than 255 bytes`},
		"file and folder":         {in("files: {a: x, a/b: y}"), topology.ProblemConflict, `line 3, column 17: source.files["a/b"]: "a" is a file, on line 3, column 11; a path cannot be a file and a folder`},
		"no content":              {in("files: {a: {mode: 0644}}"), topology.ProblemMissing, `line 3, column 11: source.files.a.content: missing; an empty file has content ""`},
		"setuid":                  {in(`files: {a: {content: x, mode: "4755"}}`), topology.ProblemInvalid, `line 3, column 33: source.files.a.mode: not permissions in octal: "4755"; for example "0755" for a program, "0644" for a text`},
		"a patch that is none":    {in(full + "patch: fix it"), topology.ProblemInvalid, `line 5, column 10: source.patch: the patch has no change of a file in it; it is a unified diff; make it with git diff --binary`},
		"a patch with bad lines":  {in("files: {a: b}\n  patch: |\n    --- a/a\n    +++ b/a\n    @@ -1,2 +1,2 @@\n    -b\n    +c\n"), topology.ProblemInvalid, `line 4, column 10: source.patch: line 3 of the patch: the hunk's header counts other lines than follow it: @@ -1,2 +1,2 @@; if its lines are right, it is @@ -1,1 +1,1 @@`},
		"a patch of git's files":  {in("patch: |\n    --- a/.git/config\n    +++ b/.git/config\n    @@ -1 +1 @@\n    -b\n    +c\n"), topology.ProblemInvalid, `line 3, column 10: source.patch: line 1 of the patch: the path ".git/config" is one of git's own files; names are relative to the working directory, behind a/ and b/`},
		"a diff":                  {in(full + "diff: x"), topology.ProblemUnknownField, `line 5, column 3: source.diff: unknown field; did you mean "patch"?`},
		"a commit for a base":     {in("base: " + commit), topology.ProblemInvalid, `line 3, column 9: source.base: a commit needs its repository; write "base: {repository: …, commit: …}"`},
		"base and beside":         {in("base: {files: {a: b}}\n  files: {c: d}"), topology.ProblemConflict, `line 4, column 3: source.files: base and files exclude each other; write it in base, or all of base beside the patch`},
		"a base without commit":   {in("base: {repository: \"https://git.example/app\"}"), topology.ProblemMissing, `line 3, column 3: source.base.commit: missing: a job runs what was meant when it was submitted; name the commit in full: git rev-parse HEAD`},
		"an empty base":           {in("base: {}"), topology.ProblemMissing, `line 3, column 3: source.base: names no source; it takes "files", a "repository" with its "commit", or an "archive"`},
		"a patch beside":          {"image: a\npatch: x", topology.ProblemUnknownField, `line 2, column 1: patch: unknown field; a patch of the source belongs under "source"; "collect: patch" returns what the job changes`},
		"collect what":            {"image: a\ncollect: files", topology.ProblemInvalid, `line 2, column 10: collect: unknown value "files"; it is one of patch`},
		"collect and an artifact": {"image: a\nartifacts: [{name: patch, path: x}]\ncollect: patch", topology.ProblemConflict, `line 3, column 1: collect: one of the artifacts is called patch; that is the name of what collect returns: name the artifact differently`},
		"files beside":            {"image: a\nfiles: {a: b}", topology.ProblemUnknownField, `line 2, column 1: files: unknown field; it belongs under "source"`},
	})
}

// What a patch goes on is the same source, in base or beside the patch.
func TestBaseIsTheSource(t *testing.T) {
	t.Parallel()
	const patch = `, "patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"`
	digest := `"sha256:` + strings.Repeat("a", 64) + `"`
	for beside, base := range map[string]string{
		`"repository": "https://git.example/app", "commit": "` + commit + `", "path": "x", "files": {"x": "a\n"}`: "",
		`"archive": ` + digest:            digest,
		`"files": {"x": {"content": ""}}`: "",
	} {
		if base == "" {
			base = "{" + beside + "}"
		}
		var specs []*topology.Spec
		for _, source := range []string{beside, `"base": ` + base} {
			s, err := topology.Parse([]byte(`{"image": "a", "source": {` + source + patch + `}}`))
			if err != nil {
				t.Fatal(err)
			}
			specs = append(specs, s)
		}
		if diff := cmp.Diff(specs[0], specs[1]); diff != "" || !strings.HasPrefix(specs[0].Source.Patch, "--- a/x\n") {
			t.Errorf("(-beside +base):\n%s", diff)
		}
	}
}

func TestPatchNeedsBase(t *testing.T) {
	t.Parallel()
	made := "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"
	changed := "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
	for _, tt := range []struct {
		source topology.Source
		want   string
	}{
		{topology.Source{Patch: changed}, "x"},
		{topology.Source{Patch: made + changed}, ""},
		{topology.Source{Patch: changed, Files: map[string]topology.SourceFile{"x": {Content: "a\n"}}}, ""},
		{topology.Source{Patch: changed, Archive: "sha256:0"}, ""},
		{topology.Source{}, ""},
	} {
		if got := tt.source.NeedsBase(); got != tt.want {
			t.Errorf("%+v: %q", tt.source, got)
		}
	}
}
