package runnerctl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
)

// exitCodes is the help topic that shows the one table of exit codes.
func exitCodes() *cobra.Command {
	var b strings.Builder
	b.WriteString("runnerctl exits with:\n\n")
	row := func(code int, meaning string) { fmt.Fprintf(&b, "  %3d  %s\n", code, meaning) }
	row(mcp.ExitOK, "success")
	row(mcp.ExitFailure, "a failure without a code of its own, or a job that failed without an exit code")
	byExit := map[int][]string{}
	order := []int{}
	for _, c := range mcp.Codes() {
		if byExit[c.Exit] == nil {
			order = append(order, c.Exit)
		}
		byExit[c.Exit] = append(byExit[c.Exit], string(c.Code))
	}
	slices.Sort(order)
	for _, code := range order {
		row(code, strings.Join(byExit[code], ", "))
	}
	row(mcp.ExitInterrupted, "interrupted")
	b.WriteString("\nCommands that follow a job (submit --follow, retry --follow, logs -f) exit with 0 when it succeeded and else with:\n\n")
	b.WriteString("    N  the job's own exit code, where it has one\n")
	row(mcp.ExitJobCanceled, "the job was canceled")
	row(mcp.ExitJobTimedOut, "the job timed out")
	row(mcp.ExitRejected, "the job was rejected: no runner could take it")
	row(mcp.ExitFailure, "the job failed in another way")
	return &cobra.Command{Use: "exit-codes", Short: "The exit codes of runnerctl", Long: b.String()}
}

// environment is the help topic on environment variables.
func environment() *cobra.Command {
	return &cobra.Command{
		Use: "environment", Short: "The environment variables of runnerctl",
		Long: cmdutil.EnvProfile + "        name of the profile to use, as --profile\n" +
			cmdutil.EnvHub + "            URL of the hub, before the profile's; `run` and `unpair` stay with the hub that was paired.\n" +
			"                         A key that `login` kept goes to its own hub alone, so set RUNNERCTL_API_KEY as well\n" +
			cmdutil.EnvAPIKey + "        API key (ak_…), before the one that `runnerctl login` kept\n" +
			cmdutil.EnvPairingToken + "  pair_ token for `runnerctl pair`\n" +
			"DOCKER_HOST, DOCKER_CONTEXT, DOCKER_CONFIG, DOCKER_CERT_PATH, DOCKER_TLS_VERIFY\n" +
			"                         where the container engine and its registry credentials are, as for docker\n" +
			"XDG_CONFIG_HOME, XDG_STATE_HOME\n" +
			"                         where profiles and unsent results are kept, in a folder runnerhub\n" +
			"NO_COLOR                 no colour, whatever its value\n",
	}
}
