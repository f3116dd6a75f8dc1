package mcp

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/aiclient"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
)

// edit is Add or Remove of a client's.
type edit func(text []byte, name string, s aiclient.Server) ([]byte, error)

// change shows what edit does to a client's file, asks, and does it. nothing says in words why there is nothing to do.
func change(ctx context.Context, o *Options, client aiclient.Client, apply edit, nothing string) error {
	path, err := file(o, client)
	if err != nil {
		return err
	}
	s, err := server(o)
	if err != nil {
		return err
	}
	before, err := aiclient.Read(path)
	if err != nil {
		return explain(path, err)
	}
	after, err := apply(before, o.Name, s)
	if err != nil {
		return explain(path, err)
	}
	if bytes.Equal(before, after) {
		return o.F.IO.Say("Nothing to do: %s %s.\n", path, nothing)
	}
	if err := o.F.IO.Say("%s", diff.Diff(path, before, path+" (new)", after)); err != nil || o.DryRun {
		return err
	}
	if yes, err := agreed(ctx, o); err != nil || !yes {
		return err
	}
	if err := aiclient.Replace(path, before, after); err != nil {
		return explain(path, err)
	}
	return o.F.IO.Say("Written. Start %s again, or reload its MCP servers.\n", client.Title)
}

// file is the client's file that the command line means.
func file(o *Options, client aiclient.Client) (string, error) {
	if o.Project {
		dir, err := os.Getwd()
		if err != nil {
			return "", err
		}
		path, _ := client.ProjectFile(dir)
		return path, nil
	}
	path := client.UserFile(aiclient.Places{Home: o.F.HomeDir, Config: o.F.SettingsDir, Getenv: o.F.Getenv})
	if !filepath.IsAbs(path) {
		return "", &mcp.Error{Code: mcp.CodeConflict, Message: "no home folder is known here", Hint: "set HOME"}
	}
	return path, nil
}

// agreed asks, unless the command line has answered.
func agreed(ctx context.Context, o *Options) (bool, error) {
	if o.Yes {
		return true, nil
	}
	if !o.F.IO.InTTY {
		return false, cmdutil.Usagef("nothing was changed: there is no terminal to ask at; give --yes, or --dry-run to see the change only")
	}
	o.F.IO.Note("Write this? [y/N] ")
	line, err := o.F.IO.ReadLine(ctx)
	if err != nil && ctx.Err() != nil {
		return false, err
	}
	if line = strings.ToLower(line); line == "y" || line == "yes" {
		return true, nil
	}
	return false, o.F.IO.Say("Nothing was changed.\n")
}

// explain says what is in the way of a change, and what to do about it.
func explain(path string, err error) error {
	e := &mcp.Error{Code: mcp.CodeConflict, Message: path + ": " + err.Error()}
	_, malformed := errors.AsType[*aiclient.MalformedError](err)
	_, foreign := errors.AsType[*aiclient.ForeignError](err)
	switch {
	case malformed:
		e.Code, e.Hint = mcp.CodeInvalidArgument, "nothing was changed; mend the file and try again"
	case foreign:
		e.Hint = "nothing was changed; choose another --name, or take that server out of the file"
	case errors.Is(err, aiclient.ErrNotation):
		e.Hint = "nothing was changed; edit the file by hand"
	case errors.Is(err, aiclient.ErrChanged):
		e.Hint = "try again"
	default: // of the file system, whose words name the path
		e.Message, e.Hint = err.Error(), "nothing was changed; see who may read and write the file and its folder"
	}
	return e
}
