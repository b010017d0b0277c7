package policy

// Guarded returns the paths of every machine that no task may mount, because they give control of
// the machine: the sockets and state of container engines, det-deploy's default directories, and
// the processes of the machine. Agents add their own paths.
func Guarded() []string {
	return []string{
		"/proc",
		"/run/docker.sock", "/run/docker", "/var/lib/docker", "/etc/docker",
		"/run/containerd", "/var/lib/containerd",
		"/run/podman", "/var/lib/containers", "/run/containers",
		"/run/crio", "/var/run/crio", "/var/lib/cri-dockerd", "/run/cri-dockerd.sock",
		// /var/run is a symbolic link to /run, which is not resolved yet.
		"/var/run/docker.sock", "/var/run/docker", "/var/run/containerd", "/var/run/podman", "/var/run/containers",
		"/var/run/cri-dockerd.sock", "/var/run/user",
		// The engines and sessions of users.
		"/run/user",
		"/var/lib/kubelet", "/etc/kubernetes", "/var/lib/rancher", "/run/k3s", "/var/run/k3s", "/etc/rancher",
		"/var/lib/determined", "/etc/determined",
	}
}

// Reaches reports whether a mount of host exposes a guarded path, because it equals, contains or is
// below that path. It does not follow links, which exist only on the machine.
func Reaches(host string, guarded []string) (what string, reached bool) {
	for _, g := range guarded {
		if Below(g, host) || Below(host, g) {
			return g, true
		}
	}
	return "", false
}
