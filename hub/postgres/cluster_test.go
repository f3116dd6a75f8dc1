//go:build unix

package postgres

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// cluster is a PostgreSQL server of one test's own, which it may stop as it likes.
type cluster struct {
	t         *testing.T
	bin, data string
	port      int
	as        *syscall.SysProcAttr
	cmd       *exec.Cmd
	log       bytes.Buffer
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, bin: serverBin(t), as: &syscall.SysProcAttr{}}
	// Not t.TempDir: the server's user could not enter root's.
	dir, err := os.MkdirTemp("", "runnerhub-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.stop(syscall.SIGQUIT)
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if os.Getuid() == 0 { // as which the server refuses to run
		u, err := user.Lookup("postgres")
		if err != nil {
			t.Fatal(err)
		}
		uid, gid := number(t, u.Uid), number(t, u.Gid)
		c.as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	c.data = filepath.Join(dir, "data")
	init := c.command("initdb", "-D", c.data, "-U", "runnerhub", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.port = l.Addr().(*net.TCPAddr).Port
	l.Close()
	return c
}

func (c *cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = "/", c.as
	return cmd
}

func (c *cluster) url() string {
	return fmt.Sprintf("postgres://runnerhub@127.0.0.1:%d/postgres?sslmode=disable", c.port)
}

// start returns once the server takes connections.
func (c *cluster) start() {
	c.t.Helper()
	c.cmd = c.command("postgres", "-D", c.data, "-p", strconv.Itoa(c.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=")
	c.log.Reset()
	c.cmd.Stderr = &c.log
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	pause := fullJitter(10*time.Millisecond, 200*time.Millisecond)
	for {
		conn, err := pgx.Connect(ctx, c.url())
		if err == nil {
			conn.Close(ctx)
			return
		}
		if wait(ctx, pause.NextBackOff()) != nil {
			c.t.Fatalf("the server does not answer: %v\n%s", err, c.log.String())
		}
	}
}

// stop ends the server: SIGINT closes all connections in order, SIGQUIT is a crash.
func (c *cluster) stop(how syscall.Signal) {
	c.t.Helper()
	if c.cmd == nil {
		return
	}
	if err := c.cmd.Process.Signal(how); err != nil {
		c.t.Error(err)
	}
	c.cmd.Wait() // an exit code of its own after a crash
	c.cmd = nil
}

// serverBin finds the folder of initdb and postgres.
func serverBin(t *testing.T) string {
	t.Helper()
	out, _ := exec.Command("pg_config", "--bindir").Output()
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	for _, dir := range append([]string{strings.TrimSpace(string(out))}, dirs...) {
		if _, err := os.Stat(filepath.Join(dir, "initdb")); dir != "" && err == nil {
			return dir
		}
	}
	t.Fatal("there is no PostgreSQL server here: run `.ci/lib/ensure-postgres.sh`, which installs one")
	return ""
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
