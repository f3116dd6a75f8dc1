package topology

import (
	"slices"
	"strings"
)

// Capabilities is what a machine can be asked for: requires takes these words,
// and a runner may report no others. Sorted; to be read only.
var Capabilities = []string{
	"386",
	"amd64",
	"arm",
	"arm64",
	"darwin",
	"docker",
	"gpu",
	"host",
	"linux",
	"windows",
}

// RetryClasses are the failure classes that retry.on takes. A job that was
// canceled, or that no runner took, is not run again. Sorted; to be read only.
var RetryClasses = []string{
	"artifact",
	"capability_missing",
	"disk_full",
	"docker_unavailable",
	"image_pull",
	"internal",
	"oom",
	"policy_denied",
	"runner_lost",
	"script",
	"service_unhealthy",
	"source",
	"spec_invalid",
	"timeout",
}

// LinuxCapabilities are the kernel's capabilities without CAP_, as of Linux 6.12, and ALL for all of them. Sorted; to be
// read only.
var LinuxCapabilities = []string{
	"ALL",
	"AUDIT_CONTROL", "AUDIT_READ", "AUDIT_WRITE",
	"BLOCK_SUSPEND", "BPF",
	"CHECKPOINT_RESTORE", "CHOWN",
	"DAC_OVERRIDE", "DAC_READ_SEARCH",
	"FOWNER", "FSETID",
	"IPC_LOCK", "IPC_OWNER",
	"KILL",
	"LEASE", "LINUX_IMMUTABLE",
	"MAC_ADMIN", "MAC_OVERRIDE", "MKNOD",
	"NET_ADMIN", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_RAW",
	"PERFMON",
	"SETFCAP", "SETGID", "SETPCAP", "SETUID",
	"SYSLOG", "SYS_ADMIN", "SYS_BOOT", "SYS_CHROOT", "SYS_MODULE", "SYS_NICE", "SYS_PACCT", "SYS_PTRACE", "SYS_RAWIO", "SYS_RESOURCE",
	"SYS_TIME", "SYS_TTY_CONFIG",
	"WAKE_ALARM",
}

// LinuxCapability is a capability as LinuxCapabilities names it, whatever its case and with or without CAP_. For one that
// there is not it returns false, and a hint.
func LinuxCapability(s string) (name, hint string, ok bool) {
	name = strings.TrimPrefix(strings.ToUpper(s), "CAP_")
	if slices.Contains(LinuxCapabilities, name) {
		return name, "", true
	}
	if hint = didYouMean(name, LinuxCapabilities); hint == "" {
		hint = `for example "NET_ADMIN"`
	}
	return name, hint, false
}

// capabilityWords are other names of capabilities.
var capabilityWords = map[string]string{
	"x86_64": "amd64", "x64": "amd64", "x86-64": "amd64",
	"aarch64": "arm64", "armv8": "arm64", "armv7": "arm", "armhf": "arm",
	"x86": "386", "i386": "386", "i686": "386",
	"macos": "darwin", "osx": "darwin", "mac": "darwin",
	"win": "windows", "ubuntu": "linux", "debian": "linux",
	"nvidia": "gpu", "cuda": "gpu", "container": "docker", "podman": "docker",
}

func (d *decoder) capability(v value) (string, bool) {
	s, ok := d.text(v)
	if !ok || slices.Contains(Capabilities, s) {
		return s, ok
	}
	hint := "what a machine's owner calls it goes under labels; capabilities are " + strings.Join(Capabilities, ", ")
	if word := capabilityWords[strings.ToLower(s)]; word != "" {
		hint = "did you mean " + quote(word) + "?"
	} else if near := didYouMean(s, Capabilities); near != "" {
		hint = near
	}
	d.report(v.node, v.path, ProblemInvalid, "unknown capability "+quote(s), hint)
	return "", false
}

func (d *decoder) retryClass(v value) (string, bool) {
	s, ok := d.text(v)
	if !ok || slices.Contains(RetryClasses, s) {
		return s, ok
	}
	hint := didYouMean(s, RetryClasses)
	if hint == "" {
		hint = "the classes are " + strings.Join(RetryClasses, ", ")
	}
	d.report(v.node, v.path, ProblemInvalid, "unknown failure class "+quote(s), hint)
	return "", false
}
