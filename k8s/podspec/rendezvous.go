package podspec

import (
	"fmt"
	"maps"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
