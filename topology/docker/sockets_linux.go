package docker

// systemSockets are where an engine of the whole machine listens.
func systemSockets() []place {
	return []place{
		{"unix:///var/run/docker.sock", "the default socket"},
	}
}

// userSockets are where an engine of one user's listens.
func userSockets(h host) []place {
	return []place{
		{unixIn(h.runtimeDir, "docker.sock"), "rootless Docker"},
		{unixIn(h.home, ".docker", "desktop", "docker.sock"), "Docker Desktop"},
		{unixIn(h.home, ".docker", "run", "docker.sock"), "Docker Desktop"},
		{unixIn(h.runtimeDir, "podman", "podman.sock"), "rootless Podman"},
		{"unix:///run/podman/podman.sock", "Podman"},
	}
}
