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
)

// errand is a Job of ours that does one thing with the master's own program,
// configuration and disks, while the master does not run.
type errand struct {
	// name tells the errands of a cluster apart.
	name string
	// args are the program's.
	args []string
	// claim is a further claim to mount at backupDir, or empty.
	claim string
	limit time.Duration
}

// errandTail is how many lines of an errand's log an error shows.
const errandTail = 20

// errandGrace is how long an errand that nobody removed is kept for people to look
// at.
const errandGrace int32 = 24 * 60 * 60

// do runs an errand in a pod as from describes the master's, and waits for its end.
// One that was left behind by a killed run is made anew.
func (t *Target) do(ctx context.Context, e errand, from corev1.PodTemplateSpec, tell func(string)) error {
	job := t.jobOf(e, from)
	if err := t.removeErrand(ctx, job.Name); err != nil {
		return err
	}
	if _, err := t.API.BatchV1().Jobs(t.Namespace).Create(ctx, job, metav1.CreateOptions{}); err != nil {
		return t.refuse("create", "jobs", job.Name, err)
	}
	if err := t.errandEnds(ctx, e, job.Name, tell); err != nil {
		return err
	}
	return t.removeErrand(ctx, job.Name)
}

// jobOf is pure: the Job in which an errand runs.
func (t *Target) jobOf(e errand, from corev1.PodTemplateSpec) *batchv1.Job {
	marks := labels(t.Cluster, componentUpgrade)
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
	none, grace, limit := int32(0), errandGrace, int64(e.limit/time.Second)
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

// instead returns the master's arguments with another verb in the place of `run`,
// and more behind them.
func instead(c *corev1.Container, verb []string, more ...string) []string {
	at := slices.Index(c.Args, "run")
	if at < 0 {
		return append(append([]string{"master"}, verb...), more...)
	}
	return slices.Concat(c.Args[:at], verb, c.Args[at+1:], more)
}

// errandEnds waits until a Job is over, telling what its pod waits for.
func (t *Target) errandEnds(ctx context.Context, e errand, name string, tell func(string)) error {
	told := ""
	deadline := time.Now().Add(e.limit + time.Minute)
	for {
		job, err := t.API.BatchV1().Jobs(t.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return t.refuse("get", "jobs", name, err)
		}
		switch done, why := ended(job); {
		case done && why == "":
			return nil
		case done:
			return fmt.Errorf("run `%s` in job %s: %s%s", program(e.args), name, why, t.lastWords(ctx, name))
		case time.Now().After(deadline):
			return fmt.Errorf("run `%s` in job %s: %w", program(e.args), name, errors.New("it does not end"))
		}
		if what := t.troubles(ctx, "job-name="+name); what != told && what != "" {
			told = what
			tell(what)
		}
		if err := t.pause(ctx); err != nil {
			return err
		}
	}
}

// ended says whether a Job is over, and why it failed if it did.
func ended(job *batchv1.Job) (done bool, why string) {
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

// removeErrand removes a Job with its pods and waits until they are gone: they may
// hold the disk.
func (t *Target) removeErrand(ctx context.Context, name string) error {
	if _, err := t.API.BatchV1().Jobs(t.Namespace).Get(ctx, name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		return nil
	}
	foreground := metav1.DeletePropagationForeground
	err := t.API.BatchV1().Jobs(t.Namespace).Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &foreground})
	if err != nil && !apierrors.IsNotFound(err) {
		return t.refuse("delete", "jobs", name, err)
	}
	return t.await(ctx, goneLimit, "job "+name+" to go", func(ctx context.Context) (bool, error) {
		_, err := t.API.BatchV1().Jobs(t.Namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, t.refuse("get", "jobs", name, err)
	})
}

// program is an errand's command line without its paths.
func program(args []string) string {
	out := "det-deploy"
	for _, a := range args[:min(2, len(args))] {
		out += " " + a
	}
	return out
}
