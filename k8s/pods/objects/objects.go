// Package objects creates and deletes the Kubernetes objects of a task. Each call may be repeated:
// an object that already exists, or is already deleted, is no error.
package objects

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/rm"
)

// API manages the objects of tasks. They are created in Namespace; objects that an earlier version
// created in another namespace are deleted there.
type API struct {
	Client    kubernetes.Interface
	Namespace string
}

// OpenPods removes the gates of an allocation's pods, in parallel. hints are nodes with room, by
// rank.
func (c API) OpenPods(ctx context.Context, id rm.AllocationID, pods []*corev1.Pod, hints []gang.NodeID) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for _, pod := range pods {
		g.Go(func() error { return c.openPod(ctx, id, pod, hints) })
	}
	return g.Wait()
}

// openPod removes a pod's gate and adds a preference for the hinted node.
func (c API) openPod(ctx context.Context, id rm.AllocationID, pod *corev1.Pod, hints []gang.NodeID) error {
	node := gang.NodeID("")
	if rank, ok := podspec.RankOf(pod); ok && rank < len(hints) {
		node = hints[rank]
	}
	patch, err := podspec.OpenPatch(pod, id, node)
	if err != nil {
		return err
	}
	_, err = c.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("open pod %s: %w", pod.Name, err)
	}
	return nil
}

// CreateSecrets creates the Secrets of a Job's pods.
func (c API) CreateSecrets(ctx context.Context, job *batchv1.Job, secrets []*corev1.Secret) error {
	for _, s := range secrets {
		podspec.Own(job, s)
		_, err := c.Client.CoreV1().Secrets(c.Namespace).Create(ctx, s, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("make secret %s: %w", s.Name, err)
		}
	}
	return nil
}

// CreateService creates the Service by which a Job's pods find each other.
func (c API) CreateService(ctx context.Context, job *batchv1.Job, s *corev1.Service) error {
	podspec.Own(job, s)
	_, err := c.Client.CoreV1().Services(s.Namespace).Create(ctx, s, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make service %s: %w", s.Name, err)
	}
	return nil
}

// CreateJob creates a Job, or returns the existing one of that name.
func (c API) CreateJob(ctx context.Context, job *batchv1.Job) (*batchv1.Job, error) {
	jobs := c.Client.BatchV1().Jobs(c.Namespace)
	made, err := jobs.Create(ctx, job, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		made, err = jobs.Get(ctx, job.Name, metav1.GetOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("make job %s: %w", job.Name, err)
	}
	return made, nil
}

// DeleteJobs deletes an allocation's Jobs with their dependents. It returns the number of Jobs that
// still exist. The Job of the current attempt may be too new to be in known, so it is deleted by
// name; listing Jobs would make the API server filter all of them.
func (c API) DeleteJobs(ctx context.Context, current string, known []*batchv1.Job, how metav1.DeletionPropagation) (left int, err error) {
	type key struct{ namespace, name string }
	all := map[key]metav1.DeleteOptions{{c.Namespace, current}: {PropagationPolicy: &how}}
	for _, job := range known {
		at := key{job.Namespace, job.Name}
		o := metav1.DeleteOptions{PropagationPolicy: &how, Preconditions: metav1.NewUIDPreconditions(string(job.UID))}
		if all[at] = o; job.DeletionTimestamp != nil {
			left++
			delete(all, at)
		}
	}
	for at, o := range all {
		err := c.Client.BatchV1().Jobs(at.namespace).Delete(ctx, at.name, o)
		switch {
		case err == nil:
			left++
		case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
			return left, fmt.Errorf("delete job %s: %w", at.name, err)
		}
	}
	return left, nil
}

// DeletePod deletes a pod with a grace period.
func (c API) DeletePod(ctx context.Context, pod *corev1.Pod, grace time.Duration) error {
	seconds := int64(grace.Round(time.Second) / time.Second)
	return c.ignoreGone(c.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &seconds, Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
	}))
}

// DeleteJob deletes a Job, and its dependents in the background.
func (c API) DeleteJob(ctx context.Context, job *batchv1.Job) error {
	how := metav1.DeletePropagationBackground
	return c.ignoreGone(c.Client.BatchV1().Jobs(job.Namespace).Delete(ctx, job.Name, metav1.DeleteOptions{
		PropagationPolicy: &how, Preconditions: metav1.NewUIDPreconditions(string(job.UID)),
	}))
}

// DeleteSecret deletes a Secret in the namespace of tasks.
func (c API) DeleteSecret(ctx context.Context, name string) error {
	return c.ignoreGone(c.Client.CoreV1().Secrets(c.Namespace).Delete(ctx, name, metav1.DeleteOptions{}))
}

// ignoreGone returns nil if the object no longer exists or was replaced by another.
func (API) ignoreGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
