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

// errandSpec is a Job of ours that does one thing with the master's own program,
// configuration and disks, while the master does not run.
type errandSpec struct {
	// name distinguishes the errands of a cluster.
	name string
	// args are the program's.
	args []string
	// claim is a further claim to mount at backupDir, or empty.
	claim string
	// values is what the pod mounts beside what is there, for as long as the errand is; it
	// may be nil.
	values *corev1.Secret
	limit  time.Duration
}

// errands runs Jobs of ours in the cluster's namespace.
type errands struct{ waiter }

// errandTail is how many lines of an errand's log an error shows.
const errandTail = 20

// errandLag is how much longer than we wait Kubernetes lets an errand be.
const errandLag = 2 * time.Minute

// errandGrace is how long an errand that was not removed is kept for inspection.
const errandGrace int32 = 24 * 60 * 60

// runErrand runs an errand in a pod as from describes the master's, and waits for its end.
// One that was left behind by a killed run is re-created.
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
		return t.deleteJob(ctx, job.Name, metav1.DeletePropagationBackground) // what has ended holds no disk
	}
	if _, stuck := errors.AsType[*stuckError](err); stuck {
		// Its pod would go on trying, and hold its disks.
		return errors.Join(err, t.removeJob(ctx, job.Name))
	}
	return err
}

// dropValues deletes the Secret of an errand before, which may outlive its Job by a moment: the pod must not
// start with it.
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

// giveValues makes the Secret of an errand, which goes with its Job. The pod waits for it.
func (t errands) giveValues(ctx context.Context, e errandSpec, job *batchv1.Job) error {
	if e.values == nil {
		return nil
	}
	s := &corev1.Secret{Data: e.values.Data, ObjectMeta: metav1.ObjectMeta{
		Name: e.values.Name, Labels: job.Labels,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
	}}
	if _, err := t.API.CoreV1().Secrets(t.Namespace).Create(ctx, s, metav1.CreateOptions{}); err != nil {
		return t.explainError("create", "secrets", s.Name, err)
	}
	return nil
}

// jobOf is pure: the Job in which an errand runs.
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
	// The Job ends after we have: its pod says what keeps it from running.
	none, grace, limit := int32(0), errandGrace, int64((e.limit+errandLag)/time.Second)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "determined-" + e.name + "-" + t.Cluster, Namespace: t.Namespace, Labels: marks},
		Spec: batchv1.JobSpec{
			BackoffLimit: &none, TTLSecondsAfterFinished: &grace, ActiveDeadlineSeconds: &limit,
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: marks}, Spec: spec},
		},
	}
}

// masterIn is the container of the master itself.
func masterIn(s *corev1.PodSpec) *corev1.Container {
	for i := range s.Containers {
		if slices.Contains(s.Containers[i].Args, "run") || slices.Contains(s.Containers[i].Command, "run") {
			return &s.Containers[i]
		}
	}
	return &s.Containers[0]
}

// replaceVerb returns the master's arguments with another verb in the place of `run`,
// and more behind them.
func replaceVerb(c *corev1.Container, verb []string, more ...string) []string {
	at := slices.Index(c.Args, "run")
	if at < 0 {
		return append(append([]string{"master"}, verb...), more...)
	}
	return slices.Concat(c.Args[:at], verb, c.Args[at+1:], more)
}

// stuckError is an errand whose pod does not start, with the reasons.
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

// Hint is how to fix the gravest problem.
func (e *stuckError) Hint() string {
	const again = "run the same command again"
	if len(e.verdict.Troubles) > 0 && e.verdict.Troubles[0].Fix != "" {
		return e.verdict.Troubles[0].Fix + "; then " + again
	}
	return again
}

// awaitEnd waits until a Job is over, reporting what its pod waits for. It ends early
// where the pod will not run.
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
			return fmt.Errorf("run `%s` in job %s: %s%s", programOf(e.args), name, why, t.lastWords(ctx, name))
		}
		v, succeeded := t.diagnoseErrand(ctx, name)
		if succeeded {
			return nil // its Job says so a second or two later, and no master serves meanwhile
		}
		if w.isOver(v, time.Now()) {
			return &stuckError{programOf(e.args), name, v, time.Since(w.begun)}
		}
		if err := t.pauseBriefly(ctx); err != nil {
			return err
		}
	}
}

// jobEnd says whether a Job is over, and why it failed if it did.
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

// removeAll removes what killed upgrades have left.
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

// removeJob removes a Job with its pods and waits until they are gone: they may
// hold the disk.
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

// programOf is an errand's command line without its paths.
func programOf(args []string) string {
	out := "det-deploy"
	for _, a := range args[:min(2, len(args))] {
		out += " " + a
	}
	return out
}
