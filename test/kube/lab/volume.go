package lab

import (
	"context"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func volumeName(c *corev1.PersistentVolumeClaim) string { return "pvc-" + string(c.UID) }

func (p provisioner) make(ctx context.Context, c *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) error {
	dir := p.lab.path("volumes", strings.Join([]string{volumeName(c), c.Namespace, c.Name}, "_"))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	// Chmod, because of the umask: a pod may run as any user.
	if err := os.Chmod(dir, 0o777); err != nil {
		return err
	}
	_, err := p.client.CoreV1().PersistentVolumes().Create(ctx, volume(c, class, dir), metav1.CreateOptions{})
	return unlessThere(err)
}

func volume(c *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, dir string) *corev1.PersistentVolume {
	kind := corev1.HostPathDirectory
	v := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: volumeName(c), Annotations: map[string]string{provisionedBy: provisionerName}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:         corev1.ResourceList{corev1.ResourceStorage: c.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes:      c.Spec.AccessModes,
			VolumeMode:       c.Spec.VolumeMode,
			StorageClassName: class.Name,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim",
				Namespace: c.Namespace, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: dir, Type: &kind}},
		},
	}
	if class.ReclaimPolicy != nil {
		v.Spec.PersistentVolumeReclaimPolicy = *class.ReclaimPolicy
	}
	if node := c.Annotations[selectedNode]; node != "" {
		v.Spec.NodeAffinity = onNode(node)
	}
	return v
}

func onNode(name string) *corev1.VolumeNodeAffinity {
	here := corev1.NodeSelectorRequirement{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{name}}
	term := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{here}}
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}}
}
