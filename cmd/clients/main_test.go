//go:build clients

package clients_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/runnerhub/runnerhub/hub/server"
	"github.com/runnerhub/runnerhub/runnerctl"
	"github.com/runnerhub/runnerhub/topology/host"
)

// patience bounds every wait. It is for a machine that does much else.
const patience = 2 * time.Minute

func TestMain(m *testing.M) {
	if code, was := host.Helper(); was { // of a runner, which is this program too
		os.Exit(code)
	}
	// A client waits for containers most of its time.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){
		"runnerhub": func() { os.Exit(server.Main()) },
		"runnerctl": func() { os.Exit(runnerctl.Main()) },
	})
}
