package k8s

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/installer/target/k8s/chart"
)

// claims are the volume claims that outlive a cluster.
type claims struct {
	place
	values chart.Values
	// given is Target.given.
	given string
}

// ensureBackup makes the claim for backups, unless one is given or there.
func (t claims) ensureBackup(ctx context.Context) (string, error) {
	claims := t.API.CoreV1().PersistentVolumeClaims(t.Namespace)
	if t.given != "" {
		return t.given, t.checkGiven(ctx)
	}
	name := backupPrefix + t.Cluster
	size := t.values.Text("db.storageSize")
	if size == "" {
		size = backupSize
	}
	q, err := resource.ParseQuantity(size)
	if err != nil {
		return "", fmt.Errorf("make the claim for backups: db.storageSize %q: %w", size, err)
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: t.Namespace, Labels: objectLabels(t.Cluster, componentBackup)},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: q}},
		},
	}
	if class := t.values.Text("db.storageClassName"); class != "" {
		claim.Spec.StorageClassName = &class
	}
	_, err = claims.Create(ctx, claim, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return name, nil
	}
	return name, t.explainError("create", "persistentvolumeclaims", name, err)
}

// checkGiven looks for the claim that the user named for backups.
func (t claims) checkGiven(ctx context.Context) error {
	if t.given == "" {
		return nil
	}
	_, err := t.API.CoreV1().PersistentVolumeClaims(t.Namespace).Get(ctx, t.given, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return &cloud.Error{
			Kind: cloud.NotFound, Op: "find the claim for backups", Resource: t.given,
			Err: errors.New("it does not exist in namespace " + t.Namespace),
			Fix: "make it, name another with --backup-to claim:NAME, or leave --backup-to out",
		}
	}
	return t.explainError("get", "persistentvolumeclaims", t.given, err)
}
