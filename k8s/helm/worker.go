package helm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	helmkube "helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes"

	"github.com/det-deploy/det-deploy/internal/wait"
)

// worker is Helm's Kubernetes client, with four differences: waits end with the operation, a
// deletion waits until the objects are gone, an update starts from every revision that may be live,
// and only the server validates objects.
type worker struct {
	*helmkube.Client
	// ctx is the operation's context, because Helm's interface does not pass one.
	ctx context.Context
	set kubernetes.Interface
	// interrupted are revisions that were begun after the last deployed one.
	interrupted []*release.Release
	// waited is the first error of a wait. Helm converts it to text, or logs it.
	waited error
}

var (
	_ helmkube.Interface                    = (*worker)(nil)
	_ helmkube.InterfaceExt                 = (*worker)(nil)
	_ helmkube.InterfaceDeletionPropagation = (*worker)(nil)
)

const (
	// pollEvery is the interval of waits.
	pollEvery = 300 * time.Millisecond
	// goneLimit is the timeout of deletions: pods take up to half a minute to terminate, and
	// volumes a while to detach.
	goneLimit = 3 * time.Minute
)

// Build parses objects. It disables Helm's validation, which would download the server's OpenAPI
// document, because the server validates anyway.
func (w *worker) Build(text io.Reader, _ bool) (helmkube.ResourceList, error) {
	return w.Client.Build(text, false)
}

// Update changes original to target. The additions of an interrupted revision are in neither and
// would remain, so it is used as the original of a first pass.
func (w *worker) Update(original, target helmkube.ResourceList, force bool) (*helmkube.Result, error) {
	for _, rel := range w.interrupted {
		began, err := w.Build(bytes.NewBufferString(rel.Manifest), false)
		if err != nil {
			w.Log("passing over revision %d: %v", rel.Version, err)
			continue
		}
		if res, err := w.Client.Update(began, copyList(target), force); err != nil {
			return res, err
		}
	}
	return w.Client.Update(original, target, force)
}

// copyList copies a list, so that a refresh does not modify the target.
func copyList(list helmkube.ResourceList) helmkube.ResourceList {
	out := make(helmkube.ResourceList, len(list))
	for i, info := range list {
		c := *info
		c.Object = info.Object.DeepCopyObject()
		out[i] = &c
	}
	return out
}

// DeleteWithPropagationPolicy deletes objects and waits until they are gone.
func (w *worker) DeleteWithPropagationPolicy(list helmkube.ResourceList, policy metav1.DeletionPropagation) (*helmkube.Result, []error) {
	res, errs := w.Client.DeleteWithPropagationPolicy(list, policy)
	if len(errs) > 0 {
		return res, errs
	}
	if err := w.WaitForDelete(list, goneLimit); err != nil {
		return res, []error{err}
	}
	return res, nil
}

// WaitForDelete waits until no object of the list exists.
func (w *worker) WaitForDelete(list helmkube.ResourceList, limit time.Duration) error {
	var left []string
	err := w.pollUntil(limit, func() (bool, error) {
		left = left[:0]
		for _, info := range list {
			err := (&resource.Info{Client: info.Client, Mapping: info.Mapping, Namespace: info.Namespace, Name: info.Name}).Get()
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return false, err
			}
			left = append(left, info.Mapping.GroupVersionKind.Kind+" "+info.Name)
		}
		return len(left) == 0, nil
	})
	if errors.Is(err, errTimeUp) {
		err = fmt.Errorf("wait until everything is gone: after %s these are left: %s", limit, strings.Join(left, ", "))
	}
	return w.keepWaitError(err)
}

// keepWaitError stores the first error of a wait for explainError.
func (w *worker) keepWaitError(err error) error {
	if w.waited == nil {
		w.waited = err
	}
	return err
}

// WatchUntilReady waits for a hook's Job or Pod to succeed.
func (w *worker) WatchUntilReady(list helmkube.ResourceList, limit time.Duration) error {
	for _, info := range list {
		var look func() (bool, error)
		switch info.Mapping.GroupVersionKind.Kind {
		case "Job":
			look = func() (bool, error) {
				j, err := w.set.BatchV1().Jobs(info.Namespace).Get(w.ctx, info.Name, metav1.GetOptions{})
				if err != nil {
					return false, err
				}
				return jobDone(j)
			}
		case "Pod":
			look = func() (bool, error) {
				p, err := w.set.CoreV1().Pods(info.Namespace).Get(w.ctx, info.Name, metav1.GetOptions{})
				if err != nil {
					return false, err
				}
				return podDone(p)
			}
		default:
			continue
		}
		if err := w.pollUntil(limit, look); err != nil {
			return w.keepWaitError(fmt.Errorf("wait for hook %s: %w", info.Name, err))
		}
	}
	return nil
}

func jobDone(j *batchv1.Job) (bool, error) {
	for _, c := range j.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == batchv1.JobComplete:
			return true, nil
		case c.Type == batchv1.JobFailed:
			return false, fmt.Errorf("job %s: %s (%s)", j.Name, c.Message, c.Reason)
		}
	}
	return false, nil
}

func podDone(p *corev1.Pod) (bool, error) {
	switch p.Status.Phase {
	case corev1.PodSucceeded:
		return true, nil
	case corev1.PodFailed:
		return false, fmt.Errorf("pod %s: %s (%s)", p.Name, p.Status.Message, p.Status.Reason)
	default:
		return false, nil
	}
}

// errTimeUp is returned by a wait at its timeout.
var errTimeUp = errors.New("the time is up")

// pollUntil calls look immediately and then periodically, until it returns true or an error, the
// limit is reached, the operation ends, or the user cancels the wait.
func (w *worker) pollUntil(limit time.Duration, look func() (bool, error)) error {
	for deadline := time.Now().Add(limit); ; {
		done, err := look()
		if done || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return errTimeUp
		}
		if err := wait.ForWanted(w.ctx, pollEvery); err != nil {
			return err
		}
	}
}
