//go:build !linux && !darwin && !windows

package docker

func systemSockets() []place {
	return []place{{"unix:///var/run/docker.sock", "the default socket"}}
}

func userSockets(host) []place { return nil }
