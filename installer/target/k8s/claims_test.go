package k8s

import (
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/installer/target/k8s/chart"
	"github.com/det-deploy/det-deploy/k8s/helm"
	"github.com/det-deploy/det-deploy/templates"
)

// dataOn returns the Deployment of an available master of cluster lab whose data are on a claim.
func dataOn(name, claim string) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ml", Labels: map[string]string{clusterLabel: "lab"}}}
	d.Status = appsv1.DeploymentStatus{UpdatedReplicas: 1, Replicas: 1, AvailableReplicas: 1}
	d.Spec.Template.Spec = corev1.PodSpec{
		Containers: []corev1.Container{{Name: "master", Image: "det-deploy:1.1.0"}},
		Volumes: []corev1.Volume{{Name: dataVolume, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}}},
	}
	return d
}

// claimOf returns a claim with the cluster's label and a recorded version.
func claimOf(name, version string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "ml", Labels: map[string]string{clusterLabel: "lab"}, Annotations: map[string]string{versionAnnotation: version},
	}}
}

func targetOn(values chart.Values, objects ...runtime.Object) (*Target, *fake.Clientset) {
	api := fake.NewClientset(objects...)
	return &Target{Cluster: "lab", Namespace: "ml", Values: values, API: api}, api
}

// An error of the server for the record of the version does not make an available master unavailable.
func TestFailedVersionRecordIsReported(t *testing.T) {
	t.Parallel()
	claims := schema.GroupResource{Resource: "persistentvolumeclaims"}
	for name, failure := range map[string]error{
		"400": apierrors.NewBadRequest("a webhook refuses"), "403": apierrors.NewForbidden(claims, "c", nil),
		"404": apierrors.NewNotFound(claims, "c"), "409": apierrors.NewConflict(claims, "c", errors.New("changed")),
		"422": apierrors.NewInvalid(schema.GroupKind{Kind: "PersistentVolumeClaim"}, "c", nil),
		"500": apierrors.NewInternalError(errors.New("no etcd")),
	} {
		for _, verb := range []string{"get", "patch"} {
			t.Run(name+" to "+verb, func(t *testing.T) {
				t.Parallel()
				target, api := targetOn(chart.Values{}, dataOn(masterPrefix+"lab", "c"), claimOf("c", "1.0.0"))
				api.PrependReactor(verb, "persistentvolumeclaims", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, failure })
				var told []string
				if err := target.awaitMaster(t.Context(), func(s string) { told = append(told, s) }); err != nil {
					t.Errorf("got %v of a master that is up", err)
				}
				if missing := verb == "get" && name == "404"; !missing && (len(told) != 1 || !strings.Contains(told[0], "1.1.0")) {
					t.Errorf("got told %q, want that 1.1.0 is not recorded", told)
				}
			})
		}
	}
}

// The version is recorded only on claims that the pods mount, even if a user created them.
func TestTheVersionIsRecordedOnTheClaimsInUse(t *testing.T) {
	t.Parallel()
	mine := claimOf("mine", "1.0.0")
	mine.Labels = nil
	target, _ := targetOn(chart.Values{}, dataOn(masterPrefix+"lab", "embedded"), dataOn(databasePrefix+"lab", "mine"), mine, claimOf("embedded", "1.0.0"), claimOf("kept", "1.0.0"))
	if err := target.awaitMaster(t.Context(), func(s string) { t.Error("told", s) }); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"mine": "1.1.0", "embedded": "1.1.0", "kept": "1.0.0"} {
		if got, _, err := target.newClaims().readVersion(t.Context(), name); got != want || err != nil {
			t.Errorf("claim %s: got %q and %v, want %q", name, got, err, want)
		}
	}
}

func TestTheValuesLeadToClaims(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		db   map[string]any
		want []string
	}{
		"embedded":            {map[string]any{"type": "embedded"}, []string{"determined-master-data-lab"}},
		"embedded, given":     {map[string]any{"type": "embedded", "existingClaim": "mine"}, []string{"mine"}},
		"PostgreSQL":          {map[string]any{"type": "postgres"}, []string{"determined-db-pvc-lab"}},
		"PostgreSQL, given":   {map[string]any{"type": "postgres", "existingClaim": "mine"}, []string{"mine"}},
		"one that is there":   {map[string]any{"type": "postgres", "claimSuffix": "old"}, []string{"determined-db-pvc-old"}},
		"one from a snapshot": {map[string]any{"type": "postgres", "restoreSnapshotSuffix": "monday"}, []string{"determined-db-pvc-monday"}},
		"without a volume":    {map[string]any{"type": "postgres", "disablePVC": true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := helm.Render(helm.Release{
				Name: "lab", Namespace: "ml", Chart: templates.Chart("1.0.0"),
				Values: chart.Values{"imageRegistry": "registry.example", "maxSlotsPerPod": 1, "db": tc.db},
			}, helm.NoServer())
			if err != nil {
				t.Fatal(err)
			}
			if got, err := claimsIn(out, "lab"); err != nil || !slices.Equal(got, tc.want) {
				t.Errorf("got %q and %v, want %q", got, err, tc.want)
			}
		})
	}
}

// A kept claim of a newer version does not prevent an install that does not use it.
func TestOnlyTheClaimsInUseAreChecked(t *testing.T) {
	t.Parallel()
	target, _ := targetOn(chart.Values{}, claimOf("kept", "2.0.0"), claimOf("used", "1.0.0"))
	for _, names := range [][]string{{"used"}, {"none"}, nil} {
		if err := target.newClaims().checkVersion(t.Context(), names, "1.0.0"); err != nil {
			t.Errorf("on %q: got %v", names, err)
		}
	}
	err := target.newClaims().checkVersion(t.Context(), []string{"used", "kept"}, "1.0.0")
	var refused *cloud.Error
	if !errors.As(err, &refused) || refused.Kind != cloud.Conflict || refused.Resource != "claim kept" {
		t.Fatalf("got %v, want claim kept refused", err)
	}
	for _, way := range []string{"install version 2.0.0", "k8s upgrade --cluster-id lab", "--set db.existingClaim=", "kubectl -n ml annotate pvc kept det-deploy.dev/version=1.0.0"} {
		if !strings.Contains(refused.Fix, way) {
			t.Errorf("got %s, want %s in it", refused.Fix, way)
		}
	}
}
