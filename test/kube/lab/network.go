package lab

import (
	"os"
	"strings"
)

// makeNetwork connects the node's network namespace to the host by one veth pair and two routes. No
// route leads beyond the host's end of the pair, so that a pod that calls an external address fails
// immediately with "unreachable".
func (l *Lab) makeNetwork() error {
	if _, err := os.Stat("/run/netns/" + l.namespace); err == nil {
		l.removeNetwork()
	}
	peer := l.hostLink + "n"
	for _, c := range []string{
		"ip netns add " + l.namespace,
		"ip link add " + l.hostLink + " type veth peer name " + peer,
		"ip link set " + peer + " netns " + l.namespace + " name eth0",
		"ip addr add " + l.hostIP + "/30 dev " + l.hostLink,
		"ip link set " + l.hostLink + " up",
		"ip -n " + l.namespace + " link set lo up",
		"ip -n " + l.namespace + " addr add " + l.nodeIP + "/30 dev eth0",
		"ip -n " + l.namespace + " link set eth0 up",
		// This route is never used, because kube-proxy rewrites or drops traffic to a Service, but
		// without a route the kernel rejects the packet before that.
		"ip -n " + l.namespace + " route add " + l.serviceCIDR + " dev eth0",
		"ip route replace " + l.podCIDR + " via " + l.nodeIP,
		"ip route replace " + l.serviceCIDR + " via " + l.nodeIP,
	} {
		if err := run(strings.Fields(c)...); err != nil {
			return err
		}
	}
	// "Connection refused" is sent immediately and for every packet. Redirects, which would use up
	// the rate limit of ICMP replies, are not sent.
	return run(l.program("kubelab"), "enter", "--netns", l.namespace, "--", "sh", "-c", `cd /proc/sys/net/ipv4 &&
		echo 1 >ip_forward && echo 0 >icmp_ratelimit &&
		for d in all default eth0; do echo 0 >conf/$d/send_redirects; done`)
}

// removeNetwork removes the pair, and with it its routes, and the namespace.
func (l *Lab) removeNetwork() {
	for _, c := range []string{"ip link del " + l.hostLink, "ip netns del " + l.namespace} {
		run(strings.Fields(c)...) //nolint:errcheck // the objects may not exist
	}
}

// kernelSettings returns the sysctls that the kubelet changes on the machine.
func kernelSettings() []string {
	return []string{
		"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
		"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
	}
}

func readSysctls() map[string]string {
	out := make(map[string]string)
	for _, name := range kernelSettings() {
		if b, err := os.ReadFile("/proc/sys/" + name); err == nil {
			out[name] = strings.TrimSpace(string(b))
		}
	}
	return out
}

func writeSysctls(values map[string]string) {
	for name, v := range values {
		os.WriteFile("/proc/sys/"+name, []byte(v), 0o644) //nolint:errcheck // on a read-only /proc/sys the setting is unchanged
	}
}
