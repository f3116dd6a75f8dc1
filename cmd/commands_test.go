package cmd_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/runnerhub/runnerhub/hub/server/servertest"
)

var listening = regexp.MustCompile(`(?m)^runnerhub listening on (https?://\S+)$`)

// startHub: `hub [NAME] [-- flags]` starts a hub and sets $HUB, and $ADMIN_KEY from its data folder $WORK/NAME. Started
// again it answers at the same place.
func startHub(ts *testscript.TestScript, _ bool, args []string) {
	name, flags := "hub", []string(nil)
	if len(args) > 0 && args[0] != "--" {
		name, args = args[0], args[1:]
	}
	if len(args) > 0 {
		flags = args[1:]
	}
	addr := "127.0.0.1:0"
	if old := ts.Getenv("ADDR_" + name); old != "" {
		addr = old
	}
	p := launch(ts, name, "runnerhub", append([]string{"serve", "--addr", addr, "--data", ts.MkAbs(name)}, flags...)...)
	m := p.awaitText(ts, listening)
	if m == nil {
		ts.Fatalf("the hub did not come up; its stderr:\n%s", &p.stderr)
	}
	ts.Setenv("HUB", m[1])
	ts.Setenv("ADDR_"+name, strings.TrimPrefix(m[1], "http://"))
	key, err := os.ReadFile(ts.MkAbs(name + "/admin.key"))
	ts.Check(err)
	ts.Setenv("ADMIN_KEY", strings.TrimSpace(string(key)))
}

// await: `await REGEXP program args…` runs a command again and again until its output matches.
func await(ts *testscript.TestScript, _ bool, args []string) {
	want := regexp.MustCompile(args[0])
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for {
		out, _ := command(ts, args[1], args[2:]...).CombinedOutput() // its exit code does not matter, its words do
		if want.Match(out) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			ts.Fatalf("%q never matched; the last output:\n%s", args[0], out)
		}
	}
}

// exits: `exits CODE program args…` is exec for a certain exit code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s; its stderr:\n%s", code, args[0], ts.ReadFile("stderr"))
	}
}

// keep: `keep NAME` puts the last standard output, trimmed, into $NAME.
func keep(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

// decide: `decide CODE true|false KEY` approves or denies a pairing, as the page in the browser does; with ! the hub must refuse.
func decide(ts *testscript.TestScript, neg bool, args []string) {
	body := `{"user_code": "` + args[0] + `", "approve": ` + args[1] + `}`
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, ts.Getenv("HUB")+"/api/v1/pairing/decide", strings.NewReader(body))
	ts.Check(err)
	req.Header.Set("Authorization", "Bearer "+args[2])
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	ts.Check(err)
	if (res.StatusCode != http.StatusOK) != neg {
		ts.Fatalf("the hub answers %s: %s", res.Status, answer)
	}
}

// database: `database NAME` puts the URL of an empty PostgreSQL database into $NAME. It is dropped after the script.
func database(ts *testscript.TestScript, _ bool, args []string) {
	url, drop, err := servertest.NewDatabase(context.Background())
	ts.Check(err)
	ts.Defer(func() { ts.Check(drop(context.Background())) })
	ts.Setenv(args[0], url)
}
