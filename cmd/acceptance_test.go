package cmd_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/runnerhub/runnerhub/hub/server"
	"github.com/runnerhub/runnerhub/runnerctl"
	"github.com/runnerhub/runnerhub/runnerctl/keyring/keyringtest"
	"github.com/runnerhub/runnerhub/topology/host"
)

func TestMain(m *testing.M) {
	if code, was := host.Helper(); was { // of a runner, which is this program too
		os.Exit(code)
	}
	// A script waits for containers most of its time, so more of them than there are cores are faster. Each needs some of
	// the engine's networks, of which there are 31 by default.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){
		"runnerhub": func() { os.Exit(server.Main()) },
		"runnerctl": func() { os.Exit(runnerctl.Main()) },
	})
}

// TestScripts runs the two programs as people do: a real hub, real Docker, real files. Each script has
// homes and hubs of its own.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, params("testdata/script", func(e *testscript.Env) string {
		return "unix:path=" + filepath.Join(e.WorkDir, "no-bus") // no session bus: these scripts keep their tokens in files
	}))
}

// TestKeyringScripts has a machine with a real Secret Service.
func TestKeyringScripts(t *testing.T) {
	t.Parallel()
	bus := keyringtest.StartBus(t)
	bus.StartKeyring(t)
	// The scripts run in parallel to each other once this function has returned; the group holds the bus until they end.
	t.Run("group", func(t *testing.T) {
		testscript.Run(t, params("testdata/keyring", func(*testscript.Env) string { return bus.Address }))
	})
}

func params(dir string, bus func(*testscript.Env) string) testscript.Params {
	return testscript.Params{
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			for name, dir := range map[string]string{"HOME": "home", "XDG_CONFIG_HOME": "home/config", "XDG_STATE_HOME": "home/state", "XDG_DATA_HOME": "home/data"} {
				path := filepath.Join(e.WorkDir, dir)
				if err := os.MkdirAll(path, 0o700); err != nil {
					return err
				}
				e.Setenv(name, path)
			}
			e.Setenv("DBUS_SESSION_BUS_ADDRESS", bus(e))
			e.Setenv("DOCKER_HOST", os.Getenv("DOCKER_HOST"))
			examples, err := filepath.Abs("../examples")
			if err != nil {
				return err
			}
			e.Setenv("EXAMPLES", examples)
			e.Values[processes{}] = map[string]*process{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"hub":        startHub,
			"background": background,
			"sees":       sees,
			"signal":     signal,
			"ends":       ends,
			"stop":       stop,
			"kill9":      kill9,
			"await":      await,
			"exits":      exits,
			"keep":       keep,
			"decide":     decide,
			"database":   database,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	}
}
