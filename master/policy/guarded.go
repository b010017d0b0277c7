package policy

// Guarded are the paths of every machine that no task gets, because who has them has
// the machine: the sockets and the state of container engines, what det-deploy keeps
// by default, and the processes of the machine. An agent adds its own.
func Guarded() []string {
	return []string{
		"/proc",
		"/run/docker.sock", "/run/docker", "/var/lib/docker", "/etc/docker",
		"/run/containerd", "/var/lib/containerd",
		"/run/podman", "/var/lib/containers", "/run/containers",
		"/run/crio", "/var/run/crio", "/var/lib/cri-dockerd", "/run/cri-dockerd.sock",
		// /var/run is a link to /run, which is not resolved yet.
		"/var/run/docker.sock", "/var/run/docker", "/var/run/containerd", "/var/run/podman", "/var/run/containers",
		"/var/run/cri-dockerd.sock", "/var/run/user",
		// The engines of users, and their sessions.
		"/run/user",
		"/var/lib/kubelet", "/etc/kubernetes", "/var/lib/rancher", "/run/k3s", "/var/run/k3s", "/etc/rancher",
		"/var/lib/determined", "/etc/determined",
	}
}

// Reaches reports whether a mount of host shows something guarded: it is that, is
// part of it, or contains it. Links are not followed: that takes the machine.
func Reaches(host string, guarded []string) (what string, reached bool) {
	for _, g := range guarded {
		if Below(g, host) || Below(host, g) {
			return g, true
		}
	}
	return "", false
}
