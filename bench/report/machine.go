package report

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Machine describes in one sentence what was measured on, who shared it, and with which server. What cannot be found out
// is left out.
func Machine(ctx context.Context, sharedBy, server string) string {
	parts := []string{fmt.Sprintf("Measured on %s: %d cores shared by %s", time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), sharedBy)}
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
	return strings.Join(append(parts, runtime.Version(), server), ", ") + "."
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
