package policy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/iostreams"
	"github.com/runnerhub/runnerhub/topology/policy"
)

func newEdit(o *Options, run func(context.Context, *Options) error) *cobra.Command {
	return &cobra.Command{
		Use:   "edit",
		Short: "Edit the policy with VISUAL or EDITOR",
		Long: "Edit the policy with the program that VISUAL or EDITOR names. What it saves becomes the policy once it is valid; as\n" +
			"long as it is not, the policy stays as it was and the text is kept aside.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
}

func edit(ctx context.Context, o *Options) error {
	f := file(o)
	before, err := f.Text()
	if err != nil {
		return err
	}
	draft, err := newDraft(before)
	if err != nil {
		return err
	}
	keep := false
	defer func() {
		if !keep {
			_ = os.Remove(draft)
		}
	}()
	for {
		if err := open(ctx, o, draft); err != nil {
			return err
		}
		text, err := os.ReadFile(draft)
		if err != nil {
			return err
		}
		if bytes.Equal(text, before) {
			o.F.IO.Note("nothing was changed\n")
			return nil
		}
		_, err = policy.Parse(text)
		if err == nil {
			err = f.Update(func(now []byte) ([]byte, error) {
				if !bytes.Equal(now, before) {
					return nil, &mcp.Error{Code: mcp.CodeConflict, Message: "another command has changed the policy in the meantime"}
				}
				return text, nil
			})
		}
		if err == nil {
			o.F.IO.Note("%s is changed; a runner that runs heeds it within seconds\n", f.Path())
			return nil
		}
		if errors.As(err, new(*policy.Error)) && again(ctx, o, err) {
			continue
		}
		keep = true
		o.F.IO.Note("your text is in %s; the policy is as it was\n", draft)
		return invalid(err, "")
	}
}

// newDraft makes the file to be edited: a copy, or where there is no policy one that shows every rule.
func newDraft(text []byte) (string, error) {
	f, err := os.CreateTemp("", "runnerctl-policy-*.yaml") // with mode 0600
	if err != nil {
		return "", err
	}
	if text == nil {
		text = []byte((&policy.Policy{}).Text())
	}
	_, err = f.Write(text)
	return f.Name(), errors.Join(err, f.Close())
}

// again shows what is wrong and asks whether to go on, where somebody is there to say so.
func again(ctx context.Context, o *Options, err error) bool {
	if !o.F.IO.InTTY {
		return false
	}
	o.F.IO.Note("%v\nedit it again? [Y/n] ", err)
	answer, err := o.F.IO.ReadLine(ctx)
	return ctx.Err() == nil && (err == nil || errors.Is(err, iostreams.ErrNoInput)) && !strings.HasPrefix(strings.ToLower(answer), "n")
}

// open runs the editor on a file and waits for it.
func open(ctx context.Context, o *Options, path string) error {
	editor := o.F.Getenv("VISUAL")
	if editor == "" {
		editor = o.F.Getenv("EDITOR")
	}
	var c *exec.Cmd
	switch {
	case runtime.GOOS == "windows" && editor == "":
		c = exec.CommandContext(ctx, "notepad", path)
	case runtime.GOOS == "windows":
		words := strings.Fields(editor)
		c = exec.CommandContext(ctx, words[0], append(words[1:], path)...)
	default:
		if editor == "" {
			editor = "vi"
		}
		c = exec.CommandContext(ctx, "/bin/sh", "-c", editor+` "$1"`, "sh", path) // it may be a command with arguments
	}
	c.Stdin, c.Stdout, c.Stderr = o.F.IO.In, o.F.IO.Out, o.F.IO.Err
	if err := c.Run(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return &mcp.Error{
			Code: mcp.CodeUnavailable, Message: fmt.Sprintf("the editor %q failed: %v; the policy is as it was", editor, err),
			Hint: "name another with EDITOR",
		}
	}
	return nil
}
