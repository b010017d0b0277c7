package explain

import (
	"context"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/det-deploy/det-deploy/k8s/kube"
)

// logLines is the number of log lines shown: the end of a stack trace and its context.
const logLines = 12

// Of selects the objects to look at.
type Of struct {
	Client    kubernetes.Interface
	Namespace string
	// Selector is a label selector, "app.kubernetes.io/instance=lab,!determined".
	Selector string
}

// Look lists the objects, their events and logs. It omits events, classes and logs that the user
// may not read.
func Look(ctx context.Context, of Of) (Seen, error) {
	var s Seen
	o := metav1.ListOptions{LabelSelector: of.Selector}
	for _, list := range []struct {
		resource, group string
		get             func() error
	}{
		{"deployments", "apps", func() error {
			l, err := of.Client.AppsV1().Deployments(of.Namespace).List(ctx, o)
			if err == nil {
				s.Deployments = l.Items
			}
			return err
		}},
		{"replicasets", "apps", func() error {
			l, err := of.Client.AppsV1().ReplicaSets(of.Namespace).List(ctx, o)
			if err == nil {
				s.ReplicaSets = l.Items
			}
			return err
		}},
		{"jobs", "batch", func() error {
			l, err := of.Client.BatchV1().Jobs(of.Namespace).List(ctx, o)
			if err == nil {
				s.Jobs = l.Items
			}
			return err
		}},
		{"pods", "", func() error {
			l, err := of.Client.CoreV1().Pods(of.Namespace).List(ctx, o)
			if err == nil {
				s.Pods = l.Items
			}
			return err
		}},
		{"persistentvolumeclaims", "", func() error {
			l, err := of.Client.CoreV1().PersistentVolumeClaims(of.Namespace).List(ctx, o)
			if err == nil {
				s.Claims = l.Items
			}
			return err
		}},
		{"services", "", func() error {
			l, err := of.Client.CoreV1().Services(of.Namespace).List(ctx, o)
			if err == nil {
				s.Services = l.Items
			}
			return err
		}},
	} {
		if err := list.get(); err != nil {
			return Seen{}, kube.Translate(kube.Call{Verb: "list", Group: list.group, Resource: list.resource, Namespace: of.Namespace}, err)
		}
	}
	return s, readBackground(ctx, of, &s)
}

// readBackground adds events, storage classes and logs.
func readBackground(ctx context.Context, of Of, s *Seen) error {
	events, err := of.Client.CoreV1().Events(of.Namespace).List(ctx, metav1.ListOptions{})
	switch {
	case err == nil:
		s.Events = events.Items
	case !apierrors.IsForbidden(err):
		return kube.Translate(kube.Call{Verb: "list", Resource: "events", Namespace: of.Namespace}, err)
	}
	if err := readClasses(ctx, of, s); err != nil {
		return err
	}
	s.Logs = make(map[string][]string)
	for _, p := range s.Pods {
		for _, c := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
			if c.Ready || p.Status.Phase == corev1.PodSucceeded {
				continue
			}
			if lines := readTail(ctx, of, p.Name, c); len(lines) > 0 {
				s.Logs[p.Name+"/"+c.Name] = lines
			}
		}
	}
	return ctx.Err()
}

func readClasses(ctx context.Context, of Of, s *Seen) error {
	if len(s.Claims) == 0 {
		return nil
	}
	list, err := of.Client.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil {
		return kube.Translate(kube.Call{Verb: "list", Group: "storage.k8s.io", Resource: "storageclasses"}, err)
	}
	s.Classes = make(map[string]bool, len(list.Items))
	for _, c := range list.Items {
		s.Classes[c.Name] = c.VolumeBindingMode != nil && *c.VolumeBindingMode == "WaitForFirstConsumer"
		if kube.IsDefaultClass(c) {
			s.DefaultClass = c.Name
		}
	}
	return nil
}

// readTail returns the end of a container's log, of the previous run if the container is waiting.
// It returns nil if the log cannot be read, because a trouble is reported without it too.
func readTail(ctx context.Context, of Of, pod string, c corev1.ContainerStatus) []string {
	previous := c.State.Waiting != nil
	if previous && c.LastTerminationState.Terminated == nil {
		return nil
	}
	lines := int64(logLines)
	r, err := of.Client.CoreV1().Pods(of.Namespace).GetLogs(pod, &corev1.PodLogOptions{Container: c.Name, Previous: previous, TailLines: &lines}).Stream(ctx)
	if err != nil {
		return nil
	}
	defer r.Close() //nolint:errcheck // it has been read
	const most = 16 << 10
	text, err := io.ReadAll(io.LimitReader(r, most))
	if err != nil {
		return nil
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
}
