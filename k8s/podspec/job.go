package podspec

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// leftover is how long, in seconds, Kubernetes keeps a finished Job. Normally the resource manager
// deletes it after reading the logs; this is for a cluster whose master was removed. A master that
// is only down can still read logs and exit codes until then.
const leftover = 24 * 60 * 60

// buildJob returns the Job with the pods of all ranks. A failed rank is not restarted and does not
// stop others: the resource manager decides, after reading exit codes and logs.
func (b *builder) buildJob() *batchv1.Job {
	n := int32(b.pods)
	j := &batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		Spec: batchv1.JobSpec{
			Completions: &n, Parallelism: &n,
			CompletionMode:          new(batchv1.IndexedCompletion),
			BackoffLimitPerIndex:    new(int32(0)),
			PodReplacementPolicy:    new(batchv1.Failed),
			TTLSecondsAfterFinished: new(int32(leftover)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: b.pod.Labels, Annotations: b.pod.Annotations},
				Spec:       b.pod.Spec,
			},
		},
	}
	j.ObjectMeta = b.objectMeta(b.jobName())
	return j
}

// Own makes a Job the owner of another object, which is then deleted with the Job. It does not
// block the Job's deletion: for that, some servers require permission to update jobs/finalizers,
// which the administrator of a namespace does not have and cannot grant.
func Own(j *batchv1.Job, o metav1.Object) {
	o.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job", Name: j.Name, UID: j.UID, Controller: new(true),
	}})
}

// OrderOf returns the names of the Secrets created for a task's pod.
func OrderOf(pod *corev1.Pod) []string {
	var out []string
	for _, v := range pod.Spec.Volumes {
		if v.Name == volumeOrder && v.Secret != nil {
			out = append(out, v.Secret.SecretName)
		}
	}
	for _, ref := range pod.Spec.ImagePullSecrets {
		if len(out) > 0 && ref.Name == out[0]+pullSuffix {
			out = append(out, ref.Name)
		}
	}
	return out
}

func (b *builder) buildSecrets() ([]*corev1.Secret, error) {
	s := &corev1.Secret{Type: corev1.SecretTypeOpaque, Data: b.data, Immutable: new(true)}
	s.ObjectMeta = b.objectMeta(b.jobName())
	out := []*corev1.Secret{s}
	if b.signsIn() {
		pull, err := b.pullSecret()
		if err != nil {
			return nil, err
		}
		out = append(out, pull)
	}
	for _, s := range out {
		s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}
	}
	return out, nil
}
