package watch

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/det-deploy/det-deploy/k8s/podspec"
)

// addNamespaces prepares the watches of the namespaces of tasks.
func (w *Watch) addNamespaces(ctx context.Context) error {
	former, err := w.formerNamespaces(ctx)
	if err != nil {
		return err
	}
	for _, namespace := range append([]string{w.cfg.Namespace}, former...) {
		if err := w.watchNamespace(namespace); err != nil {
			return err
		}
	}
	return nil
}

// formerNamespaces returns the former namespaces that the account may read.
func (w *Watch) formerNamespaces(ctx context.Context) ([]string, error) {
	var out []string
	for _, namespace := range w.cfg.Former {
		_, err := w.cfg.Client.BatchV1().Jobs(namespace).List(ctx, metav1.ListOptions{Limit: 1, LabelSelector: podspec.LabelCluster + "=" + w.cfg.Cluster})
		switch {
		case isDenied(err):
			w.cfg.Log.Warn("the account may not list jobs of a namespace in which tasks ran before: what still runs there counts as lost", "namespace", namespace, "err", err)
		case err != nil:
			return nil, fmt.Errorf("list jobs of namespace %s: %w", namespace, err)
		default:
			out = append(out, namespace)
		}
	}
	return out, nil
}

// watchNamespace adds the watches of a namespace: tasks' objects and their events.
func (w *Watch) watchNamespace(namespace string) error {
	ours := informers.NewSharedInformerFactoryWithOptions(w.cfg.Client, resync, informers.WithNamespace(namespace),
		informers.WithTransform(stripObject), informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.LabelSelector = podspec.LabelCluster + "=" + w.cfg.Cluster
		}))
	pods, jobs := ours.Core().V1().Pods().Informer(), ours.Batch().V1().Jobs().Informer()
	if err := pods.AddIndexers(cache.Indexers{byAllocation: allocationOf}); err != nil {
		return fmt.Errorf("watch pods: %w", err)
	}
	if err := jobs.AddIndexers(cache.Indexers{byAllocation: allocationOf}); err != nil {
		return fmt.Errorf("watch jobs: %w", err)
	}
	refusals, err := w.watchEvents(namespace, "involvedObject.kind=Job,reason=FailedCreate")
	if err != nil {
		return err
	}
	warnings, err := w.watchEvents(namespace, "involvedObject.kind=Pod,type=Warning,reason!=FailedScheduling")
	if err != nil {
		return err
	}
	scalings, err := w.watchEvents(namespace, scalingEvents)
	if err != nil {
		return err
	}
	w.namespaces, w.factories = append(w.namespaces, namespace), append(w.factories, ours)
	w.pods, w.jobs = append(w.pods, pods), append(w.jobs, jobs)
	w.refusals, w.warnings, w.scalings = append(w.refusals, refusals), append(w.warnings, warnings), append(w.scalings, scalings)
	return nil
}

// watchEvents watches the events of a namespace that match a field selector.
func (w *Watch) watchEvents(namespace, fields string) (cache.SharedIndexInformer, error) {
	f := informers.NewSharedInformerFactoryWithOptions(w.cfg.Client, 0, informers.WithNamespace(namespace),
		informers.WithTransform(stripObject), informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = fields }))
	i := f.Core().V1().Events().Informer()
	if err := i.AddIndexers(cache.Indexers{byObject: objectOf}); err != nil {
		return nil, fmt.Errorf("watch events: %w", err)
	}
	w.factories = append(w.factories, f)
	return i, nil
}

// stripObject removes metadata that is never read.
func stripObject(o any) (any, error) {
	if m, ok := o.(metav1.Object); ok {
		m.SetManagedFields(nil)
	}
	return o, nil
}

// stripOther reduces another pod to its resource usage.
func stripOther(o any) (any, error) {
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return o, nil
	}
	pod.ManagedFields, pod.Annotations, pod.OwnerReferences = nil, nil, nil
	spec := corev1.PodSpec{NodeName: pod.Spec.NodeName, Overhead: pod.Spec.Overhead, Resources: pod.Spec.Resources}
	bare := func(all []corev1.Container) []corev1.Container {
		out := make([]corev1.Container, len(all))
		for i, c := range all {
			out[i] = corev1.Container{Name: c.Name, Resources: c.Resources, RestartPolicy: c.RestartPolicy}
		}
		return out
	}
	spec.Containers, spec.InitContainers = bare(pod.Spec.Containers), bare(pod.Spec.InitContainers)
	pod.Spec, pod.Status = spec, corev1.PodStatus{Phase: pod.Status.Phase}
	return pod, nil
}

func allocationOf(o any) ([]string, error) {
	if m, ok := o.(metav1.Object); ok {
		if id := m.GetLabels()[podspec.LabelTask]; id != "" {
			return []string{id}, nil
		}
	}
	return nil, nil
}

func objectOf(o any) ([]string, error) {
	if e, ok := o.(*corev1.Event); ok && e.InvolvedObject.UID != "" {
		return []string{string(e.InvolvedObject.UID)}, nil
	}
	return nil, nil
}
