package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func flagsOf(s *Settings) *pflag.FlagSet {
	f := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	s.storeFlags(f)
	s.serveFlags(f)
	return f
}

func TestFlagsGoBeforeTheEnvironmentAndThatBeforeTheFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "hub.env")
	text := "# a comment\nRUNNERHUB_ADDR=127.0.0.1:1\nRUNNERHUB_LEASE_TTL=\"1m10s\"\nRUNNERHUB_MAX_QUEUED=10\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"RUNNERHUB_CONFIG": file, "RUNNERHUB_LEASE_TTL": "1m20s", "RUNNERHUB_ADDR": "127.0.0.1:2"}
	s := Defaults()
	flags := flagsOf(&s)
	if err := flags.Parse([]string{"--addr", "127.0.0.1:3"}); err != nil {
		t.Fatal(err)
	}
	if err := fill(flags, func(k string) (string, bool) { v, ok := env[k]; return v, ok }); err != nil {
		t.Fatal(err)
	}
	if s.Addr != "127.0.0.1:3" || s.Policy.LeaseTTL != 80*time.Second || s.Policy.MaxQueued != 10 || s.LogFormat != "text" {
		t.Errorf("addr %s (want the flag's), lease TTL %s (want the environment's), max queued %d (want the file's), log format %s (want the default)",
			s.Addr, s.Policy.LeaseTTL, s.Policy.MaxQueued, s.LogFormat)
	}
}

func TestWrongSettingsAreNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.env")
	if err := os.WriteFile(bad, []byte("RUNNERHUB_ADR=x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args []string
		env  map[string]string
		says string
	}{
		"variable":         {nil, map[string]string{"RUNNERHUB_MAX_QUEUED": "many"}, "RUNNERHUB_MAX_QUEUED"},
		"file's typo":      {[]string{"--config", bad}, nil, "RUNNERHUB_ADR"},
		"file not there":   {[]string{"--config", filepath.Join(dir, "none")}, nil, "none"},
		"half of TLS":      {[]string{"--tls-cert", "x"}, nil, "--tls-key"},
		"TTL too short":    {[]string{"--lease-ttl", "20s"}, nil, "--heartbeat"},
		"long backup poll": {[]string{"--backup-poll", "6s"}, nil, "--backup-poll"},
		"timeouts crossed": {[]string{"--timeout", "48h"}, nil, "--max-timeout"},
		"no proxy":         {[]string{"--trust-proxy", "lb.example"}, nil, "--trust-proxy"},
		"short memory":     {[]string{"--retention", "24h", "--artifact-retention", "24h"}, nil, "--log-grace"},
		"no attempts":      {[]string{"--max-attempts", "0"}, nil, "--max-attempts"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Defaults()
			flags := flagsOf(&s)
			if err := flags.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			err := fill(flags, func(k string) (string, bool) { v, ok := tc.env[k]; return v, ok })
			if err == nil {
				err = s.check()
			}
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want an error that names %s", err, tc.says)
			}
		})
	}
}

func TestPlainHTTPStaysOnThisMachine(t *testing.T) {
	t.Parallel()
	for addr, allowed := range map[string]bool{
		"127.0.0.1:0": true, "[::1]:0": true, "localhost:0": true,
		"0.0.0.0:0": false, ":0": false, "[::]:0": false, "192.0.2.1:0": false,
	} {
		err := onlyLoopback(t.Context(), addr)
		if (err == nil) != allowed {
			t.Errorf("%s: %v, want allowed = %v", addr, err, allowed)
		}
		if err != nil && !strings.Contains(err.Error(), "--insecure-http") {
			t.Errorf("%s: %v does not say what to do", addr, err)
		}
	}
}
