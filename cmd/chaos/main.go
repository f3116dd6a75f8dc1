// Command chaos is the part of `make chaos` that is not the product's: runners that have no container engine, and a
// saboteur that shows the hub leases which are over. Its tests start both, beside real hubs, and break everything
// around them; see chaos_test.go.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
)

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stderr)) }

// run is `chaos runner FILE` or `chaos saboteur FILE`, with a configuration in JSON. It returns the exit code.
func run(ctx context.Context, args []string, log io.Writer) int {
	if len(args) != 2 {
		fmt.Fprintln(log, "usage: chaos runner|saboteur FILE")
		return 2
	}
	roles := map[string]func(context.Context, string, io.Writer) error{"runner": runRunner, "saboteur": runSaboteur}
	role, known := roles[args[0]]
	if !known {
		fmt.Fprintf(log, "chaos: there is no role %q\n", args[0])
		return 2
	}
	if err := role(ctx, args[1], log); err != nil {
		fmt.Fprintf(log, "chaos %s: %v\n", args[0], err)
		return 1
	}
	return 0
}
