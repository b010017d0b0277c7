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

// Variables by which the pods of a gang find each other, named like the keys of rendezvous.json,
// which trials read.
const (
	rankVariable  = "DET_CONTAINER_RANK"
	addrsVariable = "DET_CONTAINER_ADDRS"
)

// setSubdomain sets the subdomain of a gang's pods to the name of its Service: a Job gives each pod
// a host name, which DNS resolves under that subdomain.
func (b *builder) setSubdomain() error {
	if b.pods > 1 {
		b.pod.Spec.Subdomain = b.jobName()
	}
	return nil
}

// refuseSubdomain returns an error if the pod spec of a gang sets the subdomain, which is reserved
// for its Service.
func refuseSubdomain(p *corev1.Pod, pods int) error {
	if pods > 1 && p.Spec.Subdomain != "" {
		return refuseField("environment.pod_spec: spec.subdomain", "must not be set for a task of several pods, because det-deploy sets it for their DNS names")
	}
	return nil
}

// setPeers returns the variables of a gang's pods that contain their peers. The addresses are in
// the Secret, which all pods share, because each pod spec would otherwise repeat all of them.
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

// Addresses returns the DNS names of a gang's pods, by rank. They can be resolved in the whole
// cluster, as soon as a pod has an IP address.
func Addresses(job, namespace string, pods int) []string {
	out := make([]string, pods)
	for rank := range out {
		out[rank] = fmt.Sprintf("%s-%d.%s.%s.svc", job, rank, job, namespace)
	}
	return out
}

// ServiceOf returns the headless Service of a gang's Job, or nil for a single pod. It has neither
// ports nor an address and only creates the DNS names of the pods. If it is created before all pods
// have an address, Kubernetes updates its endpoints for each one.
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
			// A rank looks up the others before they are ready.
			PublishNotReadyAddresses: true,
		},
	}
	return s
}

// Ports of an allocation are offset from their bases by a number of steps, small enough to stay
// below the ports that nodes use for outgoing connections.
const (
	portSteps = 800
	portStep  = 4
)

// HostPorts returns the ports of a request whose pods use their nodes' network, in the order of the
// request, or nil if each pod has its own network. They are derived from the allocation ID, so that
// a restarted master returns the same. Two allocations may have the same ports: the pods declare
// them, and Kubernetes places such pods on different nodes.
func HostPorts(r rm.Request, t Template) []int {
	if len(r.Ports) == 0 || !onHostNetwork(r, t) {
		return nil
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(r.Allocation)) // writes to a hash never fail
	above := int(h.Sum32()%portSteps) * portStep
	out := make([]int, len(r.Ports))
	for i, base := range r.Ports {
		out[i] = base + above
	}
	return out
}

// onHostNetwork reports whether the resource pool, or the task's pod spec, puts pods on the network
// of their nodes.
func onHostNetwork(r rm.Request, t Template) bool {
	if t.HostNetwork {
		return true
	}
	p, err := userPod(r, t)
	return err == nil && p.Spec.HostNetwork
}

// declareHostPorts declares the host ports, so that Kubernetes assigns each one once per node.
func (b *builder) declareHostPorts() {
	for _, n := range HostPorts(b.request.Request, b.request.Template) {
		number := int32(n) //nolint:gosec // a port
		if slices.ContainsFunc(b.main.Ports, func(o corev1.ContainerPort) bool { return o.ContainerPort == number }) {
			continue
		}
		b.main.Ports = append(b.main.Ports, corev1.ContainerPort{ContainerPort: number, HostPort: number, Protocol: corev1.ProtocolTCP})
	}
}
