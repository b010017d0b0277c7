package k8s

import (
	"context"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/installer/target/k8s"
	"github.com/det-deploy/det-deploy/k8s/doctor"
	"github.com/det-deploy/det-deploy/k8s/helm"
	"github.com/det-deploy/det-deploy/k8s/kube"
)

// Advice holds facts about a Kubernetes cluster for the form of a new cluster.
type Advice struct {
	// Context and Namespace are the defaults of the kubeconfig.
	Context, Namespace string
	// Known is true if the cluster has a release, which holds its values.
	Known bool
	// Nodes is the number of nodes, or 0 if the caller may not list them.
	Nodes int
	// GPUs is the greatest common divisor of the nodes' GPU counts, or 0 if there are none. CPUs is that
	// of their whole CPUs, less one for the system.
	GPUs, CPUs int
	// SlotType is the value of slotType for the GPUs: gpu or rocm.
	SlotType string
}

// Contexts lists the contexts of the kubeconfig, and the current one.
func Contexts(at At) (all []string, current string, err error) {
	return kube.Contexts(kube.Options{Kubeconfig: at.Kubeconfig})
}

// RunsPlugin reports whether logging in runs an exec plugin, which may prompt the user. It returns false
// if the kubeconfig cannot be read.
func RunsPlugin(at At) bool {
	runs, err := kube.RunsPlugin(kube.Options{Kubeconfig: at.Kubeconfig, Context: at.Context})
	return err == nil && runs
}

// Advise reads the facts for a new cluster from Kubernetes.
func Advise(ctx context.Context, at At, cluster string) (Advice, error) {
	c, err := openKube(at, readOnly())
	if err != nil {
		return Advice{}, err
	}
	a := Advice{Context: c.Context(), Namespace: c.Namespace(), SlotType: "gpu"}
	info, err := k8s.OpenReleases(c, "", nil).Status(ctx, cluster)
	if err != nil {
		return a, err
	}
	a.Known = info.Status != helm.Absent && info.Status != helm.Uninstalled
	api, err := c.Clientset()
	if err != nil {
		return a, err
	}
	nodes, err := api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return a, nil //nolint:nilerr // without permission to list nodes, the form has no defaults
	}
	a.Nodes = len(nodes.Items)
	for _, slotType := range []string{"gpu", "rocm"} {
		for _, n := range nodes.Items {
			q := n.Status.Allocatable[doctor.SlotResource(slotType)]
			if q.Value() > 0 {
				a.SlotType, a.GPUs = slotType, greatestDivisor(a.GPUs, int(q.Value()))
			}
		}
		if a.GPUs > 0 {
			break
		}
	}
	for _, n := range nodes.Items {
		if cpus := wholeCPUs(n.Status.Allocatable.Cpu()); cpus > 1 {
			a.CPUs = greatestDivisor(a.CPUs, cpus-1)
		}
	}
	return a, nil
}

func wholeCPUs(q *resource.Quantity) int { return int(q.MilliValue() / 1000) }

// greatestDivisor returns the greatest common divisor of a and b.
func greatestDivisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
