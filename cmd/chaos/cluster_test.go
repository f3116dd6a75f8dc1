//go:build linux

package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/runnerhub/runnerhub/hub/postgres"
)

// cluster is a PostgreSQL server of the run's own, with the durability that it has by default.
type cluster struct {
	*process
	addr string
}

func newCluster(w *world) *cluster {
	w.Helper()
	c := &cluster{addr: freeAddress(w.T)}
	bin, dir, as := serverBin(w), w.path("postgres"), &syscall.SysProcAttr{}
	if err := os.Mkdir(dir, 0o700); err != nil {
		w.Fatal(err)
	}
	if os.Getuid() == 0 { // as which the server refuses to run
		u, err := user.Lookup("postgres")
		if err != nil {
			w.Fatal(err)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(dir, uid, gid); err != nil {
			w.Fatal(err)
		}
	}
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, name), args...)
		attr := *as
		cmd.Dir, cmd.SysProcAttr = "/", &attr
		return cmd
	}
	data := filepath.Join(dir, "data")
	if out, err := command("initdb", "-D", data, "-U", "runnerhub", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync").CombinedOutput(); err != nil {
		w.Fatalf("initdb: %v\n%s", err, out)
	}
	_, port, err := net.SplitHostPort(c.addr)
	if err != nil {
		w.Fatal(err)
	}
	c.process = newProcess(w, "postgres", "ready to accept connections", func() *exec.Cmd {
		return command("postgres", "-D", data, "-p", port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=")
	})
	w.Cleanup(func() { c.stop(syscall.SIGQUIT) })
	c.start()
	w.await(w.Context(), "PostgreSQL", func() bool { return c.ping(w.Context()) == nil })
	return c
}

func (c *cluster) address() string { return c.addr }

func (c *cluster) url() string { return "postgres://runnerhub@" + c.addr + "/postgres?sslmode=disable" }

func (c *cluster) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	db, err := postgres.OpenDB(ctx, c.url())
	if err != nil {
		return err
	}
	return db.Close()
}

// stop ends the server: SIGINT closes all connections in order, SIGQUIT is a crash.
func (c *cluster) stop(how syscall.Signal) {
	c.mu.Lock()
	cmd, ended := c.cmd, c.ended
	c.mu.Unlock()
	if cmd == nil {
		return
	}
	c.signal(how)
	<-ended
}

// serverBin finds the folder of initdb and postgres.
func serverBin(w *world) string {
	w.Helper()
	out, err := exec.CommandContext(w.Context(), "pg_config", "--bindir").Output()
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err == nil {
		dirs = append([]string{strings.TrimSpace(string(out))}, dirs...)
	}
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
			return dir
		}
	}
	w.Fatal("there is no PostgreSQL server here: run `.ci/lib/ensure-postgres.sh`, which installs one")
	return ""
}
