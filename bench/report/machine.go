package report

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Machine describes in one sentence what was measured on. What cannot be found out is left out.
func Machine(ctx context.Context, database string) (string, error) {
	parts := []string{fmt.Sprintf("Measured on %s: %d cores shared by clients, hub and database", time.Now().UTC().Format(time.DateOnly), runtime.NumCPU())}
	if cpu := field("/proc/cpuinfo", "model name"); cpu != "" {
		parts = append(parts, cpu)
	}
	if kb := field("/proc/meminfo", "MemTotal"); kb != "" {
		var n int
		if _, err := fmt.Sscanf(kb, "%d kB", &n); err == nil {
			parts = append(parts, fmt.Sprintf("%.0f GiB of memory", float64(n)/(1<<20)))
		}
	}
	if out, err := exec.CommandContext(ctx, "uname", "-sr").Output(); err == nil {
		parts = append(parts, strings.TrimSpace(string(out)))
	}
	parts = append(parts, runtime.Version())
	server, err := postgres(ctx, database)
	return strings.Join(append(parts, server), ", ") + ".", err
}

// field is the value of the first line of a file that starts with a name.
func field(path, name string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func postgres(ctx context.Context, database string) (string, error) {
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var version, settings string
	err = conn.QueryRow(ctx, `SELECT current_setting('server_version'), string_agg(name || ' ' || current_setting(name), ', ' ORDER BY name)
		FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes', 'wal_sync_method', 'shared_buffers', 'max_wal_size', 'max_connections')`,
	).Scan(&version, &settings)
	return fmt.Sprintf("PostgreSQL %s (%s)", version, settings), err
}
