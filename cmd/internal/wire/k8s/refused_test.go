package k8s

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/det-deploy/det-deploy/installer/target/k8s"
	"github.com/det-deploy/det-deploy/installer/target/k8s/chart"
)

const mistyped = `taskContainerDefaults:
  cpuPodSpec:
    spec: {tolerationss: [], priorityClassName: low}
`

// openedWith returns a cluster with values and a request with a corrected file.
func openedWith(t *testing.T, kept chart.Values, ready int32) (*Opened, Request) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	must(t, os.WriteFile(file, []byte(strings.ReplaceAll(mistyped, "tolerationss", "tolerations")), 0o600))
	q := Request{Cluster: "lab", Given: &Values{Files: []string{file}, Set: []string{"imageRegistry=r.example.com", "maxSlotsPerPod=8"}}}
	over, err := MergeValues(*q.Given)
	must(t, err)
	one := int32(1)
	api := fake.NewClientset(&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "determined-master-deployment-lab", Namespace: "ml", Labels: map[string]string{"det-deploy.dev/cluster": "lab"}},
		Spec:       appsv1.DeploymentSpec{Replicas: &one},
		Status:     appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: ready},
	})
	return &Opened{kept: kept, Target: &k8s.Target{Cluster: "lab", Namespace: "ml", API: api, Chart: Chart(), Values: over.Over(kept)}}, q
}

func mistypedValues(t *testing.T) chart.Values {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	must(t, os.WriteFile(file, []byte(mistyped), 0o600))
	v, err := MergeValues(Values{Files: []string{file}})
	must(t, err)
	return v
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const mistypedPath = "taskContainerDefaults.cpuPodSpec.spec.tolerationss"

func TestCorrectedValuesRepairFailedInstall(t *testing.T) {
	t.Parallel()
	k, q := openedWith(t, mistypedValues(t), 0)
	must(t, k.requireGoodValues(t.Context(), q))
	if _, found := k.Target.Values.Get(mistypedPath); found {
		t.Errorf("got %v, want it without %s", k.Target.Values, mistypedPath)
	}
	if low, _ := k.Target.Values.Get("taskContainerDefaults.cpuPodSpec.spec.priorityClassName"); low != "low" {
		t.Errorf("got %v, want the other values kept", k.Target.Values)
	}
	if len(k.OtherEffects) != 1 || !strings.Contains(k.OtherEffects[0], mistypedPath+" is dropped") {
		t.Errorf("got %q, want a note", k.OtherEffects)
	}
}

func TestDroppedValueIsReported(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ready int32
		given bool
	}{"the master serves": {1, true}, "nothing is given": {0, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept := mistypedValues(t)
			k, q := openedWith(t, kept, tc.ready)
			if !tc.given {
				k.kept = chart.Values{"imageRegistry": "r.example.com", "maxSlotsPerPod": 8}.Over(kept)
				q.Given, k.Target.Values = new(Values), k.kept
			}
			err := k.requireGoodValues(t.Context(), q)
			if err == nil || !strings.Contains(err.Error(), "values of cluster lab: "+mistypedPath+": unknown field") {
				t.Fatalf("got %v, want an error of %s", err, mistypedPath)
			}
			hint, _ := err.(interface{ Hint() string })
			if hint == nil || !strings.Contains(hint.Hint(), "--set "+mistypedPath+"=null") || !strings.Contains(hint.Hint(), "--reset-values") {
				t.Errorf("got hint of %#v, want it to name --reset-values", err)
			}
			if _, found := k.Target.Values.Get(mistypedPath); !found {
				t.Error("got the value dropped")
			}
		})
	}
}

// A null leaves a value of a file out, whether the chart has it or not.
func TestTemplateOmitsNull(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "values.yaml")
	must(t, os.WriteFile(file, []byte("imageRegistry: \"\"\nmaxSlotsPerPod: 4\nmaxSlots: 4\nlogLevel: loud\n"), 0o600))
	given := Values{Files: []string{file}}
	if _, _, err := Render("lab", "ml", "", given); err == nil {
		t.Error("got no error about maxSlots and logLevel")
	}
	given.Set = []string{"maxSlots=null", "logLevel=null"}
	if _, _, err := Render("lab", "ml", "", given); err != nil {
		t.Errorf("got %v, want both left out", err)
	}
}
