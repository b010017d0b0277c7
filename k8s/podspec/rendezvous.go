package podspec

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/master/rm"
)

// The variables by which the pods of a gang find each other. They have the names of
// the keys of rendezvous.json, in which trials read the same.
const (
	rankVariable  = "DET_CONTAINER_RANK"
	addrsVariable = "DET_CONTAINER_ADDRS"
)

// setSubdomain has the pods of a gang find each other: a Job gives each a host name, and under a
// subdomain with a Service of its name that is one that DNS knows.
func (b *builder) setSubdomain() error {
	if b.pods > 1 {
		b.pod.Spec.Subdomain = b.jobName()
	}
	return nil
}

// refuseSubdomain keeps a gang's subdomain free for the Service under which it meets.
func refuseSubdomain(p *corev1.Pod, pods int) error {
	if pods > 1 && p.Spec.Subdomain != "" {
		return refuseField("environment.pod_spec: spec.subdomain", "must not be set for a task of several pods: they find each other under one of their own")
	}
	return nil
}

// setPeers are the variables of a gang's pods that say who the others are. The addresses
// are in the Secret, which all pods share: each pod's spec would have all of them.
func (b *builder) setPeers() []corev1.EnvVar {
	if b.pods == 1 {
		return nil
	}
	key := secretKey(addrsVariable, 0)
	b.data[key] = []byte(strings.Join(Addresses(b.jobName(), b.request.Template.Namespace, b.pods), ","))
	return []corev1.EnvVar{
		{Name: rankVariable, Value: "$(" + indexVariable + ")"},
		{Name: addrsVariable, ValueFrom: b.fromSecret(key)},
	}
}

// Addresses are the names of a gang's pods in DNS, by rank. They are resolved from
// the whole cluster, and as soon as a pod has an address.
func Addresses(job, namespace string, pods int) []string {
	out := make([]string, pods)
	for rank := range out {
		out[rank] = fmt.Sprintf("%s-%d.%s.%s.svc", job, rank, job, namespace)
	}
	return out
}

// ServiceOf is the headless Service of a gang's Job, nil for that of a single pod. It has no port
// and no address: all that it does is to give pods their names. One that there is before all
// pods have an address is written again for each that comes.
func ServiceOf(j *batchv1.Job) *corev1.Service {
	if j.Spec.Template.Spec.Subdomain != j.Name {
		return nil
	}
	s := &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Name: j.Name, Namespace: j.Namespace, Labels: maps.Clone(j.Labels), Annotations: maps.Clone(j.Annotations),
		},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{batchv1.JobNameLabel: j.Name},
			// A rank looks for the others before they are ready.
			PublishNotReadyAddresses: true,
		},
	}
	return s
}

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
