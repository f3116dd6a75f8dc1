package docker

// systemSockets are where an engine of the whole machine listens.
func systemSockets() []place {
	return []place{
		{"npipe:////./pipe/docker_engine", "the default pipe"},
	}
}

// userSockets are where an engine of one user's listens.
func userSockets(host) []place {
	return []place{
		{"npipe:////./pipe/dockerDesktopLinuxEngine", "Docker Desktop"},
		{"npipe:////./pipe/podman-machine-default", "Podman"},
	}
}
