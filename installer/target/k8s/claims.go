package k8s

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/installer/target/k8s/chart"
	"github.com/det-deploy/det-deploy/k8s/helm"
)

// claims manages the volume claims that outlive a cluster.
type claims struct {
	place
	values chart.Values
	// given is Target.BackupClaim.
	given string
}

// ensureBackup creates the claim for backups, unless the user names one or it exists.
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

// checkGiven checks that the claim that the user named for backups exists.
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

const (
	// versionAnnotation is the annotation of a data claim with the last version whose master became
	// available on it, or was about to start.
	versionAnnotation = domain + "/version"
	// dataVolume is the name of the data volume in the pods of the master and of its PostgreSQL.
	dataVolume = "data"
)

// claimsOf returns the names of the claims that hold the data of Deployments. It is pure.
func claimsOf(all ...*appsv1.Deployment) []string {
	var names []string
	for _, d := range all {
		for _, v := range d.Spec.Template.Spec.Volumes {
			if v.Name == dataVolume && v.PersistentVolumeClaim != nil {
				names = append(names, v.PersistentVolumeClaim.ClaimName)
			}
		}
	}
	return names
}

// claimsIn returns the names of the data claims in a rendered chart. It is pure.
func claimsIn(out helm.Rendered, cluster string) ([]string, error) {
	var all []*appsv1.Deployment
	for _, name := range []string{masterPrefix + cluster, databasePrefix + cluster} {
		d, err := findDeployment(out, name)
		if err != nil {
			return nil, err
		}
		if d != nil {
			all = append(all, d)
		}
	}
	return claimsOf(all...), nil
}

// wantedClaims returns the names of the data claims that the values select.
func (t upgrade) wantedClaims(ctx context.Context) ([]string, error) {
	out, err := t.newRelease().renderChart(ctx)
	if err != nil {
		return nil, err
	}
	return claimsIn(out, t.Cluster)
}

// usedClaims returns the names of the data claims of a live master and its database.
func (t place) usedClaims(ctx context.Context, master *appsv1.Deployment) ([]string, error) {
	name := databasePrefix + t.Cluster
	database, err := t.API.AppsV1().Deployments(t.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return claimsOf(master), nil
	case err != nil:
		return nil, t.explainError("get", "deployments", name, err)
	case !t.isOurs(database):
		return claimsOf(master), nil
	}
	return claimsOf(master, database), nil
}

// recordVersion annotates claims with the version that is about to write them. It does not return
// errors but reports them to the user, because the cluster works without the annotation.
func (t claims) recordVersion(ctx context.Context, names []string, version string, tell func(string)) {
	for _, name := range names {
		if err := t.annotateVersion(ctx, name, version); err != nil {
			tellUnrecorded(tell, version, err)
		}
	}
}

func tellUnrecorded(tell func(string), version string, err error) {
	tell(fmt.Sprintf("warning: the data's claim does not record that version %s uses it, so that a later install of another version may not be refused: %v", version, err))
}

// annotateVersion sets the annotation unless it is up to date or the claim does not exist.
func (t claims) annotateVersion(ctx context.Context, name, version string) error {
	have, found, err := t.readVersion(ctx, name)
	if err != nil || !found || have == version {
		return err
	}
	change, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{versionAnnotation: version}}})
	if err != nil {
		return err
	}
	_, err = t.API.CoreV1().PersistentVolumeClaims(t.Namespace).Patch(ctx, name, types.MergePatchType, change, metav1.PatchOptions{})
	return t.explainError("patch", "persistentvolumeclaims", name, err)
}

// readVersion returns the version recorded on a claim, and whether the claim exists.
func (t claims) readVersion(ctx context.Context, name string) (version string, found bool, err error) {
	c, err := t.API.CoreV1().PersistentVolumeClaims(t.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", false, nil
	}
	if err != nil {
		return "", false, t.explainError("get", "persistentvolumeclaims", name, err)
	}
	return c.Annotations[versionAnnotation], true, nil
}

// checkVersion returns an error if another version has written the data, because the master would
// migrate it without a backup or could not read it.
func (t claims) checkVersion(ctx context.Context, names []string, want string) error {
	for _, name := range names {
		have, _, err := t.readVersion(ctx, name)
		if err != nil {
			return err
		}
		if have != "" && have != want {
			return t.otherVersionError(name, have, want)
		}
	}
	return nil
}

// otherVersionError names the recorded version. The data may be newer, because `helm upgrade`
// records nothing.
func (t claims) otherVersionError(name, have, want string) error {
	return &cloud.Error{
		Kind: cloud.Conflict, Op: "install version " + want, Resource: "claim " + name,
		Err: errors.New("it records that version " + have + " was the last to use the cluster's data"),
		Fix: fmt.Sprintf("install version %[1]s, the recorded one, and then run `det-deploy k8s upgrade --cluster-id %[2]s` with version %[3]s, which writes a backup first; "+
			"or use another claim with `--set db.existingClaim=NAME`; "+
			"or, if the data already has version %[3]s (`helm upgrade` records nothing), record it with `kubectl -n %[4]s annotate pvc %[5]s %[6]s=%[3]s --overwrite`; "+
			"or delete the data with `det-deploy k8s uninstall --delete-data --cluster-id %[2]s`", have, t.Cluster, want, t.Namespace, name, versionAnnotation),
	}
}
