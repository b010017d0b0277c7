package k8s

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/k8s/explain"
)

// errandSpec is a Job that performs one operation with the master's program, configuration and
// disks, while the master is stopped.
type errandSpec struct {
	// name distinguishes the errands of a cluster.
	name string
	// args are the arguments of the program.
	args []string
	// claim is an additional claim to mount at backupDir, or empty.
	claim string
	// values is a Secret that exists as long as the errand, for its pod to mount; it may be nil.
	values *corev1.Secret
	limit  time.Duration
}

// errands runs Jobs in the cluster's namespace.
type errands struct{ waiter }

// errandTail is the number of log lines of an errand in an error.
const errandTail = 20

// errandLag is how much longer than det-deploy Kubernetes waits before it ends an errand.
const errandLag = 2 * time.Minute

// errandGrace is how long, in seconds, an errand that was not deleted is kept for inspection.
const errandGrace int32 = 24 * 60 * 60

// runErrand runs an errand in a pod like the master's pod from, and waits until it ends. It deletes
// an errand that an interrupted run left behind.
func (t errands) runErrand(ctx context.Context, e errandSpec, from corev1.PodTemplateSpec, tell func(string)) error {
	job := t.jobOf(e, from)
	if err := t.removeJob(ctx, job.Name); err != nil {
		return err
	}
	if err := t.dropValues(ctx, e); err != nil {
		return err
	}
	made, err := t.API.BatchV1().Jobs(t.Namespace).Create(ctx, job, metav1.CreateOptions{})
	if err != nil {
		return t.explainError("create", "jobs", job.Name, err)
	}
	if err := t.giveValues(ctx, e, made); err != nil {
		return err
	}
	err = t.awaitEnd(ctx, e, job.Name, tell)
	if err == nil {
		return t.deleteJob(ctx, job.Name, metav1.DeletePropagationBackground) // a pod that has ended holds no disk
	}
	if _, stuck := errors.AsType[*stuckError](err); stuck {
		// Its pod would keep running and hold its disks.
		return errors.Join(err, t.removeJob(ctx, job.Name))
	}
	return err
}

// dropValues deletes the Secret of an earlier errand, which may outlive its Job for a moment, so
// that the pod does not start with old values.
func (t errands) dropValues(ctx context.Context, e errandSpec) error {
	if e.values == nil {
		return nil
	}
	err := t.API.CoreV1().Secrets(t.Namespace).Delete(ctx, e.values.Name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return t.explainError("delete", "secrets", e.values.Name, err)
	}
	return nil
}

// giveValues creates the Secret of an errand, which is deleted with its Job. The pod waits for it.
func (t errands) giveValues(ctx context.Context, e errandSpec, job *batchv1.Job) error {
	if e.values == nil {
		return nil
	}
	s := &corev1.Secret{Data: e.values.Data, ObjectMeta: metav1.ObjectMeta{
		Name: e.values.Name, Labels: job.Labels,
		// It does not block the deletion of the Job: OpenShift grants that only to users who may set
		// the Job's finalizers, and the role admin does not allow that.
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job", Name: job.Name, UID: job.UID, Controller: new(true),
		}},
	}}
	if _, err := t.API.CoreV1().Secrets(t.Namespace).Create(ctx, s, metav1.CreateOptions{}); err != nil {
		return t.explainError("create", "secrets", s.Name, err)
	}
	return nil
}

// jobOf returns the Job of an errand. It is pure.
func (t errands) jobOf(e errandSpec, from corev1.PodTemplateSpec) *batchv1.Job {
	marks := objectLabels(t.Cluster, componentUpgrade)
	spec := *from.Spec.DeepCopy()
	spec.RestartPolicy = corev1.RestartPolicyNever
	c := masterIn(&spec)
	c.Args = e.args
	c.Ports, c.LivenessProbe, c.ReadinessProbe, c.StartupProbe, c.Lifecycle = nil, nil, nil, nil, nil
	if e.claim != "" {
		const name = "backup"
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: e.claim},
		}})
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: backupDir})
	}
	// The Job's deadline is later than ours, because its pod shows the reason why it does not run.
	none, grace, limit := int32(0), errandGrace, int64((e.limit+errandLag)/time.Second)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "determined-" + e.name + "-" + t.Cluster, Namespace: t.Namespace, Labels: marks},
		Spec: batchv1.JobSpec{
			BackoffLimit: &none, TTLSecondsAfterFinished: &grace, ActiveDeadlineSeconds: &limit,
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: marks}, Spec: spec},
		},
	}
}

// masterIn returns the container that runs the master.
func masterIn(s *corev1.PodSpec) *corev1.Container {
	for i := range s.Containers {
		if slices.Contains(s.Containers[i].Args, "run") || slices.Contains(s.Containers[i].Command, "run") {
			return &s.Containers[i]
		}
	}
	return &s.Containers[0]
}

// replaceVerb returns the master's arguments with `run` replaced by verb and more appended.
func replaceVerb(c *corev1.Container, verb []string, more ...string) []string {
	at := slices.Index(c.Args, "run")
	if at < 0 {
		return append(append([]string{"master"}, verb...), more...)
	}
	return slices.Concat(c.Args[:at], verb, c.Args[at+1:], more)
}

// stuckError reports an errand whose pod does not start, with the reasons.
type stuckError struct {
	program, job string
	verdict      explain.Verdict
	waited       time.Duration
}

func (e *stuckError) Error() string {
	s := fmt.Sprintf("run `%s` in job %s: it has not ended after %s", e.program, e.job, e.waited.Round(time.Second))
	for _, t := range e.verdict.Troubles {
		s += "\n" + t.String()
	}
	return s
}

// Hint returns the remedy for the most serious problem.
func (e *stuckError) Hint() string {
	const again = "run the same command again"
	if len(e.verdict.Troubles) > 0 && e.verdict.Troubles[0].Fix != "" {
		return e.verdict.Troubles[0].Fix + "; then " + again
	}
	return again
}

// awaitEnd waits until a Job ends, and reports the progress of its pod. It returns early if the pod
// cannot run.
func (t errands) awaitEnd(ctx context.Context, e errandSpec, name string, tell func(string)) error {
	w := t.startWaiting(e.limit, tell)
	for {
		job, err := t.API.BatchV1().Jobs(t.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return t.explainError("get", "jobs", name, err)
		}
		switch done, why := jobEnd(job); {
		case done && why == "":
			return nil
		case done:
			return fmt.Errorf("run `%s` in job %s: %s%s", programOf(e.args), name, why, t.lastLogLines(ctx, name))
		}
		v, succeeded := t.diagnoseErrand(ctx, name)
		if succeeded {
			return nil // the Job's status follows a second or two later, and no master serves meanwhile
		}
		if w.isOver(v, time.Now()) {
			return &stuckError{programOf(e.args), name, v, time.Since(w.begun)}
		}
		if err := t.pauseBriefly(ctx); err != nil {
			return err
		}
	}
}

// jobEnd reports whether a Job has ended, and the reason if it failed.
func jobEnd(job *batchv1.Job) (done bool, why string) {
	for _, c := range job.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobComplete:
			return true, ""
		case batchv1.JobFailed:
			return true, "it failed: " + c.Message
		default:
		}
	}
	return false, ""
}

// removeAll deletes the errands of interrupted upgrades.
func (t errands) removeAll(ctx context.Context) error {
	list, err := t.API.BatchV1().Jobs(t.Namespace).List(ctx, metav1.ListOptions{LabelSelector: clusterLabel + "=" + t.Cluster + "," + component + "=" + componentUpgrade})
	if err != nil {
		return t.explainError("list", "jobs", "", err)
	}
	for _, j := range list.Items {
		if err := t.removeJob(ctx, j.Name); err != nil {
			return err
		}
	}
	return nil
}

// removeJob deletes a Job with its pods and waits until they are gone, because they may hold the
// disk.
func (t errands) removeJob(ctx context.Context, name string) error {
	if _, err := t.API.BatchV1().Jobs(t.Namespace).Get(ctx, name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		return nil
	}
	if err := t.deleteJob(ctx, name, metav1.DeletePropagationForeground); err != nil {
		return err
	}
	return t.awaitGone(ctx, goneLimit, "job "+name+" to go", func(ctx context.Context) (string, error) {
		_, err := t.API.BatchV1().Jobs(t.Namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		if err != nil {
			return "", t.explainError("get", "jobs", name, err)
		}
		return t.describePodsLeft(ctx, t.Namespace, batchv1.JobNameLabel+"="+name, "it")
	})
}

func (t errands) deleteJob(ctx context.Context, name string, how metav1.DeletionPropagation) error {
	err := t.API.BatchV1().Jobs(t.Namespace).Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &how})
	if err != nil && !apierrors.IsNotFound(err) {
		return t.explainError("delete", "jobs", name, err)
	}
	return nil
}

// programOf returns an errand's command line without its paths.
func programOf(args []string) string {
	out := "det-deploy"
	for _, a := range args[:min(2, len(args))] {
		out += " " + a
	}
	return out
}
