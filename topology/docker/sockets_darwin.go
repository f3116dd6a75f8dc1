package docker

// systemSockets are where an engine of the whole machine listens.
func systemSockets() []place {
	return []place{
		{"unix:///var/run/docker.sock", "the default socket"},
	}
}

// userSockets are where an engine of one user's listens; all of these are virtual machines.
func userSockets(h host) []place {
	return []place{
		{unixIn(h.home, ".docker", "run", "docker.sock"), "Docker Desktop"},
		{unixIn(h.home, ".orbstack", "run", "docker.sock"), "OrbStack"},
		{unixIn(h.home, ".colima", "default", "docker.sock"), "Colima"},
		{unixIn(h.home, ".rd", "docker.sock"), "Rancher Desktop"},
		{unixIn(h.home, ".local", "share", "containers", "podman", "machine", "podman.sock"), "Podman"},
	}
}
