package podspec

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// leftover is how long Kubernetes keeps a Job that has ended and was not
// deleted: the resource manager does, as soon as it has read the logs, and this is
// for a cluster whose master is gone. Until then a master that is only down may
// still come back for logs and exit codes.
const leftover = 24 * 60 * 60

// buildJob makes the pods of all ranks. A rank that fails is not run again and ends no
// other: the resource manager decides what becomes of them, when it has their
// exit codes and logs.
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

// Own makes a Job the owner of another object, so that it goes when the Job goes. The Job
// does not wait for it: for that, some servers want the right to update jobs/finalizers,
// which the administrator of a namespace has not got and cannot give.
func Own(j *batchv1.Job, o metav1.Object) {
	o.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job", Name: j.Name, UID: j.UID, Controller: new(true),
	}})
}

// OrderOf names the Secrets that were made for a task's pod.
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
