// Package version is `runnerctl version`.
package version

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
)

// Info is what the command prints.
type Info struct {
	Version  string `json:"version"`
	Protocol int    `json:"protocol"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// New makes the command.
func New(f *cmdutil.Factory) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version and the revision of the runner protocol",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			i := Info{mcp.Version, mcp.Protocol, runtime.Version(), runtime.GOOS, runtime.GOARCH}
			if asJSON {
				return cmdutil.PrintJSON(f.IO, i)
			}
			return f.IO.Say("runnerctl %s, runner protocol %d (%s, %s/%s)\n", i.Version, i.Protocol, i.Go, i.OS, i.Arch)
		},
	}
	cmdutil.AddJSON(c, &asJSON, Info{})
	return c
}
