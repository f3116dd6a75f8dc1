package docker

import (
	"os"
	"runtime"
	"strings"
)

// qemuNames are the kernel's handlers for foreign programs, by GOARCH word.
var qemuNames = map[string]string{
	"amd64": "qemu-x86_64", "arm64": "qemu-aarch64", "arm": "qemu-arm", "386": "qemu-i386",
	"ppc64le": "qemu-ppc64le", "s390x": "qemu-s390x", "riscv64": "qemu-riscv64",
}

// emulated lists the processors, besides its own, that an engine runs programs
// for. No engine tells; Docker Desktop always brings its emulators, and those of
// this machine's kernel can be seen. Elsewhere there are none as far as we know.
func emulated(e Endpoint, system, own string) []string {
	switch {
	case strings.Contains(system, "Docker Desktop"):
		return []string{"amd64", "arm64", "arm"}
	case runtime.GOOS != "linux" || !strings.HasPrefix(e.Host, "unix://"):
		return nil
	}
	var found []string
	for arch, name := range qemuNames {
		if arch == own {
			continue
		}
		if _, err := os.Stat("/proc/sys/fs/binfmt_misc/" + name); err == nil {
			found = append(found, arch)
		}
	}
	return found
}
