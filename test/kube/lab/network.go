package lab

import (
	"os"
	"strings"
)

// makeNetwork joins the node's network namespace to the machine by one veth pair
// and two routes. No route the other way leads past the machine's end of the
// pair: a pod that calls an address outside is told "unreachable" at once.
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
		// Never used as it stands, for kube-proxy rewrites or drops what goes
		// to a Service; but without some route the kernel refuses before that.
		"ip -n " + l.namespace + " route add " + l.serviceCIDR + " dev eth0",
		"ip route replace " + l.podCIDR + " via " + l.nodeIP,
		"ip route replace " + l.serviceCIDR + " via " + l.nodeIP,
	} {
		if err := run(strings.Fields(c)...); err != nil {
			return err
		}
	}
	// "Connection refused" is sent at once and for every packet; redirects,
	// which would use up the allowance for such answers, are not.
	return run(l.program("kubelab"), "enter", "--netns", l.namespace, "--", "sh", "-c", `cd /proc/sys/net/ipv4 &&
		echo 1 >ip_forward && echo 0 >icmp_ratelimit &&
		for d in all default eth0; do echo 0 >conf/$d/send_redirects; done`)
}

// removeNetwork removes the pair, with which its routes go, and the namespace.
func (l *Lab) removeNetwork() {
	for _, c := range []string{"ip link del " + l.hostLink, "ip netns del " + l.namespace} {
		run(strings.Fields(c)...) //nolint:errcheck // what is not there need not be removed
	}
}

// kernelSettings are those that the kubelet changes on the machine.
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
		os.WriteFile("/proc/sys/"+name, []byte(v), 0o644) //nolint:errcheck // it could be read, so it is there; a machine that forbids writing kept it
	}
}
