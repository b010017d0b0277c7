package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/k8s/podspec"
)

// look computes the number of gangs that fit.
func (b *bench) look(ctx context.Context) error {
	list, err := b.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	perNode := 0
	for _, n := range list.Items {
		has := n.Status.Allocatable[podspec.CUDA.Resource()]
		perNode += int(has.Value()) / b.slots
	}
	b.fit = perNode / b.pods
	fmt.Fprintf(b.out, "%d nodes, room for %d gangs\n", len(list.Items), b.fit)
	return nil
}

// whole checks every gang that has a pod on a node: all of its pods must be on nodes and have been
// bound together. It returns an error that names the first other gang.
func (b *bench) whole(ctx context.Context, want int) error {
	list, err := b.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: podspec.LabelTask})
	if err != nil {
		return err
	}
	bound := make(map[string][]time.Time)
	for _, p := range list.Items {
		if at, is := boundAt(p); is {
			id := p.Labels[podspec.LabelTask]
			bound[id] = append(bound[id], at)
		}
	}
	gangs := 0
	for id, times := range bound {
		if len(times) != b.pods {
			return fmt.Errorf("%s has %d of %d pods on nodes", id, len(times), b.pods)
		}
		gangs++
	}
	if gangs != want {
		return fmt.Errorf("%d gangs have pods on nodes, %d run", gangs, want)
	}
	fmt.Fprintf(b.out, "%-78s %5d\n", "gangs with all pods on nodes (none has some)", gangs)
	return nil
}

// boundAt returns the time at which a pod that is not being deleted was bound to a node.
func boundAt(p corev1.Pod) (time.Time, bool) {
	if p.Spec.NodeName == "" || p.DeletionTimestamp != nil {
		return time.Time{}, false
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			return c.LastTransitionTime.Time, true
		}
	}
	return time.Time{}, true
}
