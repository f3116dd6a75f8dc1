package topology

import (
	"errors"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

const (
	maxURL      = 2048 // bytes, of a repository's
	maxFileName = 255  // bytes, of one element of a path: what file systems take
)

var (
	fullCommit    = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	archiveDigest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	filePerm      = regexp.MustCompile(`^0?[0-7]{3}$`)
	hostWord      = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)
	ipv6Host      = regexp.MustCompile(`^[0-9A-Fa-f:.]+$`)
	// scpURL is git's short form of ssh: user@host:path.
	scpURL = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*@[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?:[^-]`)
	scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)
)

// source decodes what the workspace starts with. What it is based on may be written
// beside the patch, or in "base".
func (d *decoder) source(v value) *Source {
	s := &Source{}
	known := d.treeFields(s)
	known["patch"] = func(v value) { s.Patch = d.patch(v) }
	known["base"] = func(v value) { d.base(v, s) }
	got := d.object(v, known, sourceStrangers)
	if v.kind != mappingNode {
		return nil
	}
	if _, based := got.values["base"]; !based {
		d.checkTree(v, got)
		return s
	}
	for _, name := range slices.Sorted(maps.Keys(got.values)) {
		if f := got.values[name]; name != "base" && name != "patch" {
			d.report(f.key, f.path, ProblemConflict, "base and "+name+" exclude each other", "write it in base, or all of base beside the patch")
		}
	}
	return s
}

// treeFields decode a tree, without what changes it.
func (d *decoder) treeFields(s *Source) fields {
	return fields{
		"files":      func(v value) { s.Files = d.files(v) },
		"repository": func(v value) { s.Repository = d.repository(v) },
		"commit":     func(v value) { s.Commit = d.commit(v) },
		"submodules": func(v value) { s.Submodules = d.boolean(v) },
		"lfs":        func(v value) { s.LFS = d.boolean(v) },
		"path":       func(v value) { s.Path = d.sourceFolder(v) },
		"archive":    func(v value) { s.Archive = d.archive(v) },
	}
}

// checkTree checks what no field of a tree can know alone.
func (d *decoder) checkTree(v value, got found) {
	repository, fetched := got.values["repository"]
	archive, held := got.values["archive"]
	switch {
	case fetched && held:
		later := archive
		if archive.key.before(repository.key.position) {
			later = repository
		}
		d.report(later.key, later.path, ProblemConflict, "repository and archive exclude each other", "name the one that the job starts from")
	case fetched && got.lacks("commit"):
		d.report(v.key, join(v.path, "commit"), ProblemMissing, "missing: a job runs what was meant when it was submitted",
			"name the commit in full: git rev-parse HEAD")
	case !fetched:
		for _, name := range []string{"commit", "submodules", "lfs", "path"} {
			if f, ok := got.values[name]; ok && got.lacks("repository") {
				d.report(f.key, f.path, ProblemConflict, name+" belongs to a repository", `name it with "repository"`)
			}
		}
		if !held && got.lacks("files") && got.lacks("repository") && got.lacks("archive") && got.lacks("patch") {
			d.report(v.key, v.path, ProblemMissing, "names no source", `it takes "files", a "repository" with its "commit", or an "archive"`)
		}
	}
}

// files decodes files of the spec's own: path: content, or path: {content, mode}.
func (d *decoder) files(v value) map[string]SourceFile {
	all := map[string]SourceFile{}
	keys := map[string]value{}
	d.each(v, func(f value) {
		name := f.key.text
		if !d.safePath(f.key, f.path, name) {
			return
		}
		keys[name] = f
		if f.kind != mappingNode {
			content, _ := d.text(f)
			all[name] = SourceFile{Content: content}
			return
		}
		file := SourceFile{}
		got := d.object(f, fields{
			"content": func(v value) { file.Content, _ = d.text(v) },
			"mode":    func(v value) { file.Mode = d.filePerm(v) },
		}, fileStrangers)
		if got.lacks("content") {
			d.report(f.key, join(f.path, "content"), ProblemMissing, "missing", `an empty file has content ""`)
		}
		all[name] = file
	})
	for name, f := range keys {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if above, both := keys[dir]; both {
				d.report(f.key, f.path, ProblemConflict, quote(dir)+" is a file, on "+above.key.String(), "a path cannot be a file and a folder")
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// filePerm decodes permissions. It is the octal number as it is written, so that
// 0755, "0755" and 755 are the same.
func (d *decoder) filePerm(v value) string {
	s, ok := d.text(v)
	if !ok {
		return ""
	}
	if !filePerm.MatchString(s) {
		d.report(v.node, v.path, ProblemInvalid, "not permissions in octal: "+quote(s), `for example "0755" for a program, "0644" for a text`)
		return ""
	}
	if len(s) == 3 {
		s = "0" + s
	}
	return s
}

// safePath says whether name is a path that stays below the folder that it is
// relative to, on every system that a runner has, and reports why not.
func (d *decoder) safePath(at *node, where, name string) bool {
	bad := func(message, hint string) bool {
		d.report(at, where, ProblemInvalid, message, hint)
		return false
	}
	switch {
	case len(name) > maxPath:
		return bad("is longer than 4096 characters", "")
	case strings.Contains(name, `\`):
		return bad("a path has no backslashes: "+quote(name), "separate folders with /")
	case strings.ContainsFunc(name, unicode.IsControl):
		return bad("a path has no control characters: "+quote(name), "")
	case path.IsAbs(name) || windowsRoot.MatchString(name):
		return bad("must be relative to the workspace: "+quote(name), "")
	case path.Clean(name) != name || name == "." || name == ".." || strings.HasPrefix(name, "../"):
		return bad("must stay in the workspace, in its shortest form: "+quote(name), `without "." and ".." and without a / at the end`)
	}
	for element := range strings.SplitSeq(name, "/") {
		if len(element) > maxFileName {
			return bad("a name in it is longer than 255 bytes", "")
		}
	}
	return true
}

func (d *decoder) sourceFolder(v value) string {
	s, ok := d.text(v)
	if !ok || !d.safePath(v.node, v.path, s) {
		return ""
	}
	return s
}

func (d *decoder) commit(v value) string {
	s, ok := d.text(v)
	if ok && !fullCommit.MatchString(s) {
		hint := "it has 40 or 64 digits of 0-9 and a-f: git rev-parse HEAD"
		d.report(v.node, v.path, ProblemInvalid, "not the full id of a commit: "+quote(s), hint)
	}
	return s
}

func (d *decoder) archive(v value) string {
	s, ok := d.text(v)
	if ok && !archiveDigest.MatchString(s) {
		d.report(v.node, v.path, ProblemInvalid, "not the digest of an archive: "+quote(s), `it is "sha256:" and 64 digits; runnerctl submit --source fills it in`)
	}
	return s
}

// repository checks a URL so that git takes it for nothing else: no option, no
// command of a transport's, no folder of the runner's machine.
func (d *decoder) repository(v value) string {
	s, ok := d.text(v)
	if !ok {
		return s
	}
	if message, hint := repositoryProblem(s); message != "" {
		d.report(v.node, v.path, ProblemInvalid, message, hint)
	}
	return s
}

// CheckRepository says why a URL is not that of a repository which a job may name, nil for no reason.
func CheckRepository(url string) error {
	if message, _ := repositoryProblem(url); message != "" {
		return errors.New(message)
	}
	return nil
}

func repositoryProblem(s string) (message, hint string) {
	const forms = `write https://HOST/PATH, ssh://USER@HOST/PATH or USER@HOST:PATH`
	switch {
	case len(s) > maxURL:
		return "is longer than 2048 characters", ""
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }):
		return "a repository's URL has no spaces and no control characters: " + quote(s), forms
	case scpURL.MatchString(s) && !scheme.MatchString(s):
		if _, folder, _ := strings.Cut(s, ":"); !plainPath(folder) {
			return "the path of a repository is written without detours: " + quote(s), forms
		}
		return "", ""
	}
	u, err := url.Parse(s)
	switch {
	case err != nil, !scheme.MatchString(s):
		return "not the URL of a repository: " + quote(s), forms
	case u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "ssh":
		return "repositories are not fetched by " + quote(u.Scheme), forms
	case u.Opaque != "" || !hostWord.MatchString(u.Hostname()) && !ipv6Host.MatchString(u.Hostname()):
		return "no host that a repository could be on: " + quote(s), forms
	case strings.Trim(u.Path, "/") == "" || strings.HasPrefix(strings.TrimPrefix(u.Path, "/"), "-"):
		return "no path of a repository: " + quote(s), forms
	case u.RawPath != "" || !plainPath(u.Path): // RawPath is of what is escaped without need
		return "the path of a repository is written without detours: " + quote(s), forms
	case u.RawQuery != "" || u.Fragment != "":
		return "a repository's URL ends with its path", "name what to check out with commit and path"
	}
	if u.User == nil {
		return "", ""
	}
	_, secret := u.User.Password()
	if secret || u.Scheme != "ssh" {
		return "a spec holds no credentials", "leave them out: the runner's own git credentials are used"
	}
	if !userName.MatchString(u.User.Username()) {
		return "not a user: " + quote(u.User.Username()), forms
	}
	return "", ""
}

// plainPath says whether a path is written in the one way that there is: what fetches
// it would resolve dots, and a policy would be held against another repository.
func plainPath(p string) bool {
	p = strings.TrimSuffix(strings.TrimPrefix(p, "/"), "/")
	return p == path.Clean(p) && p != ".." && !path.IsAbs(p) && !strings.HasPrefix(p, "../") && !strings.Contains(p, `\`)
}
