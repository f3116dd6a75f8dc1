// Command runnerctl pairs a machine with a hub, runs jobs on it, and submits and watches jobs.
package main

import (
	"os"

	"github.com/runnerhub/runnerhub/runnerctl"
)

func main() { os.Exit(runnerctl.Main()) }
