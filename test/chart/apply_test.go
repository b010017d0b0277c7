package chart_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/det-deploy/det-deploy/k8s/secrets"
	"github.com/det-deploy/det-deploy/test/kubetest"
)

var cluster = kubetest.Share()

func TestMain(m *testing.M) { cluster.Main(m) }

// put renders the chart for a kind of cluster into a namespace and writes the objects whose kinds
// plain Kubernetes has to a file. The Route of OpenShift and the VolumeSnapshot of an add-on cannot
// be tested here.
func put(t *testing.T, kind, namespace string) string {
	t.Helper()
	files, err := render(t, release{name: "lab", namespace: namespace, values: parse(t, read(t, filepath.Join("testdata", kind+".values.yaml")))})
	if err != nil {
		t.Fatal(err)
	}
	delete(files, "determined/templates/route.yaml")
	delete(files, "determined/templates/snapshot.yaml")
	// kubectl creates objects in the order of the file, Helm creates namespaces first.
	tasks := files["determined/templates/tasks.yaml"]
	delete(files, "determined/templates/tasks.yaml")
	text := strings.ReplaceAll(tasks+"\n---\n"+manifest(files), `namespace: "tasks"`, "namespace: "+namespace+"-tasks")
	text = strings.ReplaceAll(text, `namespace: "ml"`, "namespace: "+namespace) // tasks in the master's namespace
	return written(t, text)
}

// written returns the path of a file with a manifest.
func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAServerTakesEveryObject(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c, namespace := cluster.Namespace(t)
			if kind == "tasks-elsewhere" {
				c.Namespace(namespace + "-tasks")
			}
			if kind != "embedded" { // whose manifest is applied without it
				c.Namespace(namespace + "-lab-tasks")
			}
			path := put(t, kind, namespace)
			t.Cleanup(func() {
				c.Kubectl("delete", "--ignore-not-found", "clusterrole,clusterrolebinding,priorityclass", "--selector=app.kubernetes.io/name=determined,app.kubernetes.io/instance=lab", "--field-selector=metadata.name=determined-"+namespace+"-lab")
			})
			c.Kubectl("apply", "--server-side", "--validate=strict", "--filename="+path)
			again := c.Kubectl("apply", "--server-side", "--validate=strict", "--dry-run=server", "--filename="+path)
			if !strings.Contains(again, "determined-master-deployment-lab serverside-applied") {
				t.Errorf("applying it again: got %s", again)
			}
		})
	}
}

// as returns a client with one of the chart's service accounts.
func as(t *testing.T, c *kubetest.Cluster, namespace, account string) kubernetes.Interface {
	t.Helper()
	cfg := rest.CopyConfig(c.Config())
	cfg.Impersonate = rest.ImpersonationConfig{
		UserName: fmt.Sprintf("system:serviceaccount:%s:%s", namespace, account),
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
	}
	api, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// Two pods of a restarted master create the secrets at the same time, with the permissions of the
// chart only. The service account of the database has no permissions.
func TestAccountsAccessOnlyTheirSecrets(t *testing.T) {
	t.Parallel()
	c, namespace := cluster.Namespace(t)
	c.Namespace(namespace + "-lab-tasks")
	c.Kubectl("apply", "--server-side", "--filename="+put(t, "gpu", namespace))
	api := as(t, c, namespace, "determined-master-lab").CoreV1().Secrets(namespace)
	c.Await("the role of the master is in effect", func() error {
		_, err := api.Get(t.Context(), "determined-secrets-lab", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	got := make([]map[string][]byte, 2)
	var both sync.WaitGroup
	for i := range got {
		both.Go(func() {
			var err error
			got[i], err = secrets.Ensure(t.Context(), api, secrets.Wanted{Name: "determined-secrets-lab", Cluster: "lab", Keys: []string{"db-password"}})
			if err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if !cmp.Equal(got[0], got[1]) {
		t.Error("they got different passwords")
	}
	for account, secret := range map[string]string{"determined-master-lab": "determined-master-config-lab", "determined-db-lab": "determined-secrets-lab"} {
		_, err := as(t, c, namespace, account).CoreV1().Secrets(namespace).Get(t.Context(), secret, metav1.GetOptions{})
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s reads Secret %s: got %v, want it refused", account, secret, err)
		}
	}
	// The database needs no access to tasks.
	_, err := as(t, c, namespace, "determined-db-lab").CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("the database lists pods: got %v, want it refused", err)
	}
}

func TestMasterPermissionsAreExact(t *testing.T) {
	t.Parallel()
	c, namespace := cluster.Namespace(t)
	elsewhere := c.Namespace(namespace + "-tasks")
	c.Kubectl("apply", "--server-side", "--filename="+put(t, "tasks-elsewhere", namespace))
	may := func(in, verb, what string) bool {
		what, name, _ := strings.Cut(what, ":")
		group, resource, found := strings.Cut(what, ".")
		if !found {
			group, resource = "", what
		}
		resource, sub, _ := strings.Cut(resource, "/")
		answer, err := c.Client().AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User: "system:serviceaccount:" + namespace + ":determined-master-lab",
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: in, Verb: verb, Group: group, Resource: resource, Subresource: sub, Name: name,
				},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return answer.Status.Allowed
	}
	for _, tt := range []struct {
		in, verb, what string
		want           bool
	}{
		{elsewhere, "create", "batch.jobs", true},
		{elsewhere, "delete", "batch.jobs", true},
		{elsewhere, "patch", "pods", true},
		{elsewhere, "get", "pods/log", true},
		{elsewhere, "create", "secrets", true},
		{elsewhere, "watch", "events", true},
		{elsewhere, "get", "secrets", false},
		{elsewhere, "create", "services", true}, // for gangs
		{elsewhere, "delete", "services", false},
		{namespace, "create", "services", false},
		{elsewhere, "get", "pods/exec", true},
		{elsewhere, "create", "pods/portforward", true},
		{elsewhere, "get", "pods/attach", false},
		{namespace, "create", "pods/exec", false},
		{namespace, "create", "batch.jobs", false},
		{namespace, "create", "pods", false},
		// Objects that an earlier version created there.
		{namespace, "delete", "batch.jobs", true},
		{namespace, "get", "pods/log", true},
		{namespace, "get", "secrets:determined-secrets-lab", true},
		{namespace, "delete", "secrets:determined-secrets-lab", false},
		{"default", "list", "pods", true}, // rbac.pods
		{"default", "delete", "pods", false},
		{"", "list", "nodes", true},
		{"", "patch", "nodes", false},
	} {
		if got := may(tt.in, tt.verb, tt.what); got != tt.want {
			t.Errorf("may the master %s %s in %s: got %t, want %t", tt.verb, tt.what, tt.in, got, tt.want)
		}
	}
}

// A fake node reports each pod that was admitted and scheduled as ready, so the test shows
// rejections by admission and by the scheduler.
func TestPodsAreScheduledUnderTheRestrictedPolicy(t *testing.T) {
	t.Parallel()
	c, namespace := cluster.Namespace(t)
	c.Kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
	c.Namespace(namespace + "-lab-tasks")
	c.Kubectl("apply", "--server-side", "--filename="+put(t, "gpu", namespace))
	for _, name := range []string{"determined-master-deployment-lab", "determined-db-deployment-lab"} {
		c.Kubectl("--namespace="+namespace, "rollout", "status", "deployment/"+name, "--timeout=60s")
	}
	claim, err := c.Client().CoreV1().PersistentVolumeClaims(namespace).Get(t.Context(), "determined-db-pvc-lab", metav1.GetOptions{})
	if err != nil || claim.Status.Phase != corev1.ClaimBound {
		t.Errorf("got claim %v, %v, want it bound", claim.Status, err)
	}
}
