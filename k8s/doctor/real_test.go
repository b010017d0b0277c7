package doctor

import (
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/k8s/kube"
	"github.com/det-deploy/det-deploy/test/kubetest"
)

var cluster = kubetest.Share() //nolint:gochecknoglobals // one cluster for the package

func TestMain(m *testing.M) { cluster.Main(m) }

// as returns an installation in a new namespace by a user.
func as(t *testing.T, user string) (Wanted, *kubetest.Cluster) {
	t.Helper()
	c, ns := cluster.Namespace(t)
	k, err := kube.Open(kube.Options{Kubeconfig: c.Kubeconfig, Namespace: ns, As: user})
	if err != nil {
		t.Fatal(err)
	}
	set, err := k.Clientset()
	if err != nil {
		t.Fatal(err)
	}
	all := objects(t)
	for i := range all {
		all[i].Namespace = ns
	}
	return Wanted{
		Client: set, Namespace: ns, Objects: all,
		Slots: Slots{Resource: "nvidia.com/gpu", MaxPerPod: 8},
	}, c
}

// answers runs all checks and returns their results by name.
func answers(t *testing.T, w Wanted) map[string]Result {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	out := make(map[string]Result)
	for _, c := range Checks(w) {
		wg.Go(func() {
			r := c.Look(t.Context())
			mu.Lock()
			defer mu.Unlock()
			out[strings.ReplaceAll(c.Name, w.Namespace, "NS")] = r
		})
	}
	wg.Wait()
	return out
}

func TestAnAdministratorMayDoEverything(t *testing.T) {
	t.Parallel()
	w, _ := as(t, "")
	w.Slots.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	got := answers(t, w)
	for _, name := range []string{
		"API server", "Kubernetes version", "namespace NS", "permission to install", "permission to grant the master's roles",
		"permission to diagnose the release", "Pod Security of namespace NS", "quota of namespace NS", "storage class", "GPUs", "taints of GPU nodes",
	} {
		expect(t, got[name], Pass)
	}
	for _, name := range []string{"load balancer", "network policies"} {
		expect(t, got[name], Unknown)
	}
	// Other packages' nodes may have another number of GPUs.
	expect(t, got["GPUs"], got["GPUs"].Answer, "with 8", "nvidia.com/gpu")
}

func TestDoctorReportsMissingPermissions(t *testing.T) {
	t.Parallel()
	w, _ := as(t, "stranger")
	got := answers(t, w)
	expect(t, got["API server"], Pass)
	expect(t, got["namespace NS"], Unknown, "missing permission to get namespaces")
	expect(t, got["permission to install"], Fail, "get, create, patch, delete deployments.apps in namespace "+w.Namespace, "clusterroles.rbac.authorization.k8s.io at the cluster scope", "kubectl auth can-i")
	expect(t, got["permission to grant the master's roles"], Fail, "create, get jobs.batch", "list nodes at the cluster scope", "rbac.nodes=false")
	expect(t, got["permission to diagnose the release"], Unknown, "list, delete pods")
	expect(t, got["GPUs"], Unknown, "missing permission to list nodes")
}

func TestNamespaceOwnerNeedsOnlyNodesRole(t *testing.T) {
	t.Parallel()
	w, c := as(t, "owner")
	c.Kubectl("create", "rolebinding", "owner", "--clusterrole=admin", "--user=owner", "-n", w.Namespace)
	got := answers(t, w)
	expect(t, got["permission to diagnose the release"], Pass)
	install := got["permission to install"]
	expect(t, install, Fail, "clusterroles")
	if strings.Contains(install.Found, "deployments") {
		t.Errorf("got %s", install.Found)
	}
	expect(t, got["permission to grant the master's roles"], Fail, "list nodes at the cluster scope")
}

func TestEscalateSufficesToGrant(t *testing.T) {
	t.Parallel()
	w, c := as(t, "escalator")
	c.Kubectl("create", "clusterrole", "escalator-"+w.Namespace, "--verb=escalate,bind", "--resource=roles.rbac.authorization.k8s.io,clusterroles.rbac.authorization.k8s.io")
	c.Kubectl("create", "clusterrolebinding", "escalator-"+w.Namespace, "--clusterrole=escalator-"+w.Namespace, "--user=escalator")
	expect(t, w.mayGrant(t.Context()), Pass, "escalate")
}

func TestSecretContentsAreChecked(t *testing.T) {
	t.Parallel()
	w, c := as(t, "")
	w.PullSecret, w.TLSSecret = "pull", "tls"
	got := answers(t, w)
	expect(t, got["pull secret pull"], Fail, "kubectl create secret docker-registry pull -n "+w.Namespace)
	expect(t, got["TLS secret tls"], Fail, "kubectl create secret tls")
	c.Kubectl("create", "secret", "docker-registry", "pull", "-n", w.Namespace, "--docker-server=a", "--docker-username=b", "--docker-password=c")
	c.Kubectl("create", "secret", "generic", "tls", "-n", w.Namespace)
	got = answers(t, w)
	expect(t, got["pull secret pull"], Pass)
	expect(t, got["TLS secret tls"], Fail, "Opaque")
}

func TestReferencedSecretsMustExist(t *testing.T) {
	t.Parallel()
	w, c := as(t, "")
	w.Named, w.TaskNamespace, w.PullSecret = []Named{{"db.passwordExistingSecret", "db", "password"}}, "not-there", "pull"
	c.Kubectl("create", "secret", "docker-registry", "pull", "-n", w.Namespace, "--docker-server=a", "--docker-username=b", "--docker-password=c")
	got := answers(t, w)
	expect(t, got["secret db of db.passwordExistingSecret"], Fail, "it does not exist", "kubectl create secret generic db -n "+w.Namespace)
	expect(t, got["namespace not-there of tasks"], Fail, "kubectl create namespace not-there")
	expect(t, got["pull secret pull"], Pass, "copies it for each task in namespace not-there")
	c.Kubectl("create", "secret", "generic", "db", "-n", w.Namespace, "--from-literal=user=x")
	expect(t, answers(t, w)["secret db of db.passwordExistingSecret"], Fail, "it has no key password")
	c.Kubectl("delete", "secret", "db", "-n", w.Namespace)
	c.Kubectl("create", "secret", "generic", "db", "-n", w.Namespace, "--from-literal=password=x")
	expect(t, answers(t, w)["secret db of db.passwordExistingSecret"], Pass)
}

func TestMissingNamespace(t *testing.T) {
	t.Parallel()
	w, _ := as(t, "")
	w.Namespace = "none"
	expect(t, w.checkNamespace(t.Context()), Fail, "--create-namespace")
	w.CreateNamespace = true
	expect(t, w.checkNamespace(t.Context()), Pass, "will be created")
	w.Coscheduler = true
	expect(t, w.coscheduler(t.Context()), Fail, "PodGroup")
}

func TestUnreachableServer(t *testing.T) {
	t.Parallel()
	k, err := kube.Open(kube.Options{Kubeconfig: "/dev/null", Server: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	set, err := k.Clientset()
	if err != nil {
		t.Fatal(err)
	}
	w := Wanted{Client: set, Namespace: "lab"}
	for name, r := range answers(t, w) {
		want := Unknown
		switch name {
		case "API server":
			want = Fail
		case "permission to grant the master's roles":
			want = Pass // without roles there is nothing to grant
		}
		expect(t, r, want)
	}
}
