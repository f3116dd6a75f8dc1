// Package keyringtest starts a real Secret Service for tests: a private D-Bus
// session with gnome-keyring in it, apart from the person's own.
package keyringtest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

// Bus is a private D-Bus session.
type Bus struct {
	Address string // for DBUS_SESSION_BUS_ADDRESS
	env     []string
}

// StartBus starts a D-Bus session that can start no service by itself, as a machine without a
// keyring. It ends with the test.
func StartBus(t testing.TB) *Bus {
	t.Helper()
	need(t, "dbus-daemon", "dbus")
	dir := t.TempDir()
	config := filepath.Join(dir, "session.conf")
	// No <standard_session_servicedirs/>: nothing is activated behind the test's back.
	text := fmt.Sprintf(`<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:dir=%s</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>`, dir)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "dbus-daemon", "--config-file="+config, "--nofork", "--print-address=1")
	out := start(t, cmd, nil)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("dbus-daemon printed no address: %v", err)
	}
	address := strings.TrimSpace(line)
	return &Bus{Address: address, env: append(os.Environ(),
		"DBUS_SESSION_BUS_ADDRESS="+address, "HOME="+dir, "XDG_DATA_HOME="+filepath.Join(dir, "data"), "XDG_RUNTIME_DIR="+dir)}
}

// StartKeyring unlocks a Secret Service on the bus. It ends with the test.
func (b *Bus) StartKeyring(t testing.TB) {
	t.Helper()
	need(t, "gnome-keyring-daemon", "gnome-keyring")
	owned := b.awaitName(t, "org.freedesktop.secrets")
	cmd := exec.CommandContext(t.Context(), "gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets")
	cmd.Env = b.env
	start(t, cmd, strings.NewReader("a password of the test's"))
	for deadline := time.After(20 * time.Second); ; {
		select {
		case sig := <-owned:
			if sig.Name == "org.freedesktop.DBus.NameOwnerChanged" { // and not one of the bus's greetings
				return
			}
		case <-deadline:
			t.Fatal("gnome-keyring-daemon did not come up within 20 s")
		}
	}
}

// awaitName tells when somebody owns a name on the bus.
func (b *Bus) awaitName(t testing.TB, name string) <-chan *dbus.Signal {
	t.Helper()
	conn, err := dbus.Connect(b.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // the bus may have ended before
	err = conn.AddMatchSignal(dbus.WithMatchInterface("org.freedesktop.DBus"), dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(0, name))
	if err != nil {
		t.Fatal(err)
	}
	changed := make(chan *dbus.Signal, 8)
	conn.Signal(changed)
	return changed
}

func start(t testing.TB, cmd *exec.Cmd, in io.Reader) io.Reader {
	t.Helper()
	cmd.Stdin = in
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // the error says that it was killed
	})
	return out
}

func need(t testing.TB, program, pkg string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Fatalf("%s is missing; bring it with: apt-get install %s (or `make test`, which does)", program, pkg)
	}
}
