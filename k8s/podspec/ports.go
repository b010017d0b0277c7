package podspec

import (
	"hash/fnv"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/master/rm"
)

// The numbers of an allocation's ports are so many steps above their bases: few enough to
// stay below the ports that nodes give to outgoing connections.
const (
	portSteps = 800
	portStep  = 4
)

// HostPorts are the numbers of a request's ports where its pods are on their nodes' network, in
// its order; nil where each pod has a network of its own. They follow from the allocation's
// ID, so that a restarted master answers the same. Two allocations may have the same ones:
// the pods declare them, and Kubernetes keeps such pods off each other's nodes.
func HostPorts(r rm.Request, t Template) []int {
	if len(r.Ports) == 0 || !onHostNetwork(r, t) {
		return nil
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(r.Allocation)) // a hash takes everything
	above := int(h.Sum32()%portSteps) * portStep
	out := make([]int, len(r.Ports))
	for i, base := range r.Ports {
		out[i] = base + above
	}
	return out
}

// onHostNetwork reports whether the pool, or the task's own pod spec, puts pods on the network
// of their nodes.
func onHostNetwork(r rm.Request, t Template) bool {
	if t.HostNetwork {
		return true
	}
	p, err := userPod(r, t)
	return err == nil && p.Spec.HostNetwork
}

// declareHostPorts has Kubernetes give each number once on a node.
func (b *builder) declareHostPorts() {
	for _, n := range HostPorts(b.request.Request, b.request.Template) {
		number := int32(n) //nolint:gosec // a port
		if slices.ContainsFunc(b.main.Ports, func(o corev1.ContainerPort) bool { return o.ContainerPort == number }) {
			continue
		}
		b.main.Ports = append(b.main.Ports, corev1.ContainerPort{ContainerPort: number, HostPort: number, Protocol: corev1.ProtocolTCP})
	}
}
