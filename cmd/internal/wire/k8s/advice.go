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

// Advice is what a Kubernetes knows that helps to say what a cluster should be.
type Advice struct {
	// Context and Namespace are the kubeconfig's defaults.
	Context, Namespace string
	// Known is true when the cluster has a release, which says the rest.
	Known bool
	// Nodes is how many there are, or 0 where they may not be listed.
	Nodes int
	// GPUs is the greatest common divisor of what the nodes have of them, 0 without
	// any, and CPUs of what they have of those, whole ones, less one for the system.
	GPUs, CPUs int
	// SlotType is what the GPUs are called in values: gpu or rocm.
	SlotType string
}

// Contexts lists the contexts of the chosen kubeconfig, and the current one.
func Contexts(at At) (all []string, current string, err error) {
	return kube.Contexts(kube.Options{Kubeconfig: at.Kubeconfig})
}

// RunsPlugin reports whether a program that may talk to a person, an exec plugin, logs in
// to the Kubernetes that may be meant. A kubeconfig that cannot be read has none.
func RunsPlugin(at At) bool {
	runs, err := kube.RunsPlugin(kube.Options{Kubeconfig: at.Kubeconfig, Context: at.Context})
	return err == nil && runs
}

// Advise asks a Kubernetes about a cluster that may be made there.
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
		return a, nil //nolint:nilerr // who may not see nodes is asked without a proposal
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

// greatestDivisor is the greatest that a and b have in common.
func greatestDivisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
