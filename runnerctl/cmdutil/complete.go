package cmdutil

import "github.com/spf13/cobra"

// Complete gives the shell the values of a flag.
func Complete(c *cobra.Command, flag string, values ...cobra.Completion) {
	err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // a flag that does not exist: a fault of the command's
	}
}
