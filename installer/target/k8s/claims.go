package k8s

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"

	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/cloud"
)

// claims are the volume claims that outlive a cluster.
type claims struct {
	place
	values Values
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

// versionAnnotation is on a claim with the cluster's data: the version whose master was
// the last that came up on it.
const versionAnnotation = domain + "/version"

// listData are the claims with the cluster's data, without those for backups.
func (t claims) listData(ctx context.Context) ([]corev1.PersistentVolumeClaim, error) {
	list, err := t.API.CoreV1().PersistentVolumeClaims(t.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: clusterLabel + "=" + t.Cluster + "," + component + "!=" + componentBackup,
	})
	if err != nil {
		return nil, t.explainError("list", "persistentvolumeclaims", "", err)
	}
	return list.Items, nil
}

// recordVersion annotates the data claims with the version of a master that is up. Where
// the account may not, they stay as they are: the cluster works all the same.
func (t claims) recordVersion(ctx context.Context, version string) error {
	all, err := t.listData(ctx)
	if isDenied(err) {
		return nil
	}
	if err != nil {
		return err
	}
	change, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{versionAnnotation: version}}})
	if err != nil {
		return err
	}
	for _, c := range all {
		if c.Annotations[versionAnnotation] == version {
			continue
		}
		_, err := t.API.CoreV1().PersistentVolumeClaims(t.Namespace).Patch(ctx, c.Name, types.MergePatchType, change, metav1.PatchOptions{})
		if err := t.explainError("patch", "persistentvolumeclaims", c.Name, err); err != nil && !isDenied(err) {
			return err
		}
	}
	return nil
}

// checkVersion refuses to install a version on data that another one has left: it would
// migrate the data without a backup, or not understand it.
func (t claims) checkVersion(ctx context.Context, want string) error {
	all, err := t.listData(ctx)
	if err != nil {
		return err
	}
	for _, c := range all {
		have := c.Annotations[versionAnnotation]
		if have == "" || have == want {
			continue
		}
		return &cloud.Error{
			Kind: cloud.Conflict, Op: "install version " + want, Resource: "claim " + c.Name,
			Err: errors.New("it holds the cluster's data as version " + have + " has left it"),
			Fix: fmt.Sprintf("install version %s again and then run `det-deploy k8s upgrade --cluster-id %s` with version %s, which writes a backup first; "+
				"or delete the data with `det-deploy k8s uninstall --delete-data --cluster-id %s`", have, t.Cluster, want, t.Cluster),
		}
	}
	return nil
}
