// Command runnerhub is the control plane of Runner Hub.
package main

import (
	"os"

	"github.com/runnerhub/runnerhub/hub/server"
)

func main() { os.Exit(server.Main()) }
