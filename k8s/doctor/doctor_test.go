package doctor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/det-deploy/det-deploy/k8s/helm"
)

// expect checks the answer of a result and the words it must contain.
func expect(t *testing.T, got Result, answer Answer, words ...string) {
	t.Helper()
	if got.Answer != answer {
		t.Errorf("got %+v, want %s", got, answer)
	}
	all := got.Found + "|" + got.Needed + "|" + got.Fix
	for _, w := range words {
		if !strings.Contains(all, w) {
			t.Errorf("got %s, want %q in it", all, w)
		}
	}
	if got.Answer == Fail && got.Fix == "" {
		t.Errorf("got no fix: %+v", got)
	}
}

func TestTheVersionMustHaveSchedulingGates(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		v     version.Info
		want  Answer
		words string
	}{
		{"old", version.Info{Major: "1", Minor: "29", GitVersion: "v1.29.4"}, Fail, "1.30"},
		{"old, as a cloud writes it", version.Info{Major: "1", Minor: "28+", GitVersion: "v1.28.4-gke.1"}, Fail, "1.30"},
		{"the oldest", version.Info{Major: "1", Minor: "30", GitVersion: "v1.30.0"}, Pass, "v1.30.0"},
		{"new, as a cloud writes it", version.Info{Major: "1", Minor: "36+", GitVersion: "v1.36.1-eks"}, Pass, ""},
		{"unreadable", version.Info{GitVersion: "master"}, Unknown, "1.30"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			expect(t, judgeVersion(&tc.v), tc.want, tc.words)
		})
	}
}

func node(name string, gpus string, taints ...corev1.Taint) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Taints: taints}}
	if gpus != "" {
		n.Status.Allocatable = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(gpus)}
	}
	return n
}

func TestMaxSlotsPerPodIsTheGreatestCommonDivisor(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		nodes []corev1.Node
		max   int
		want  Answer
		words []string
	}{
		{"all alike", []corev1.Node{node("a", "8"), node("b", "8"), node("c", "")}, 8, Pass, []string{"2 nodes with 8 nvidia.com/gpu"}},
		{"of different sizes", []corev1.Node{node("a", "8"), node("b", "12")}, 4, Pass, []string{"1 node with 12, 1 with 8"}},
		{"too few per pod", []corev1.Node{node("a", "8")}, 2, Unknown, []string{"maxSlotsPerPod=8"}},
		{"too many for the small", []corev1.Node{node("a", "8"), node("b", "4")}, 8, Unknown, []string{"maxSlotsPerPod=4"}},
		{"too many for all", []corev1.Node{node("a", "8"), node("b", "6")}, 16, Fail, []string{"maxSlotsPerPod=2"}},
		{"none", []corev1.Node{node("a", "")}, 8, Unknown, []string{"device plugin"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			expect(t, judgeGPUs(tc.nodes, Slots{Resource: "nvidia.com/gpu", MaxPerPod: tc.max}), tc.want, tc.words...)
		})
	}
}

func TestATaintNeedsAToleration(t *testing.T) {
	t.Parallel()
	gpu := corev1.Taint{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectNoSchedule}
	team := corev1.Taint{Key: "team", Value: "a", Effect: corev1.TaintEffectNoExecute}
	soft := corev1.Taint{Key: "soft", Effect: corev1.TaintEffectPreferNoSchedule}
	sick := corev1.Taint{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoSchedule}
	for _, tc := range []struct {
		name        string
		nodes       []corev1.Node
		tolerations []corev1.Toleration
		want        Answer
		words       string
	}{
		{"none", []corev1.Node{node("a", "8")}, nil, Pass, ""},
		{"of a node without GPUs", []corev1.Node{node("a", "8"), node("b", "", team)}, nil, Pass, ""},
		{"all closed", []corev1.Node{node("a", "8", gpu)}, nil, Fail, "nvidia.com/gpu=present:NoSchedule"},
		{"some closed", []corev1.Node{node("a", "8", team), node("b", "8")}, nil, Unknown, "1 of 2"},
		{"tolerated by key", []corev1.Node{node("a", "8", gpu)}, []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists}}, Pass, ""},
		{"tolerated by value", []corev1.Node{node("a", "8", team)}, []corev1.Toleration{{Key: "team", Value: "a"}}, Pass, ""},
		{"another value", []corev1.Node{node("a", "8", team)}, []corev1.Toleration{{Key: "team", Value: "b"}}, Fail, "team=a"},
		{"another effect", []corev1.Node{node("a", "8", team)}, []corev1.Toleration{{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}}, Fail, "team=a"},
		{"all tolerated", []corev1.Node{node("a", "8", team, gpu)}, []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, Pass, ""},
		{"soft, and of a sick node", []corev1.Node{node("a", "8", soft, sick)}, nil, Pass, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			expect(t, judgeTaints(tc.nodes, Slots{Resource: "nvidia.com/gpu", Tolerations: tc.tolerations}), tc.want, tc.words)
		})
	}
}

func TestPodSecurityAdmitsTasks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, level            string
		hostPaths, tasks, root bool
		want                   Answer
		words                  string
	}{
		{"no level", "", true, true, true, Pass, ""},
		{"privileged", "privileged", true, true, true, Pass, ""},
		{"baseline", "baseline", false, true, true, Pass, ""},
		{"baseline with directories of nodes", "baseline", true, false, false, Fail, "enforce=privileged"},
		{"restricted, tasks elsewhere", "restricted", false, false, true, Pass, "the master and its database comply"},
		{"restricted, tasks as root", "restricted", false, true, true, Unknown, "security.defaultTask.uid=1000"},
		{"restricted, tasks of users", "restricted", false, true, false, Pass, "unless they run as root"},
		{"restricted with directories of nodes", "restricted", true, true, false, Fail, "enforce=privileged"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			expect(t, judgePodSecurity("lab", tc.level, tc.hostPaths, tc.tasks, tc.root), tc.want, tc.words)
		})
	}
}

func TestEveryClaimNeedsAClass(t *testing.T) {
	t.Parallel()
	fast, slow := "fast", "slow"
	standard := storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "slow", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}}}
	other := storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}}
	claim := func(class *string) []corev1.PersistentVolumeClaim {
		return []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: class}}}
	}
	for _, tc := range []struct {
		name    string
		claims  []corev1.PersistentVolumeClaim
		classes []storagev1.StorageClass
		want    Answer
		words   string
	}{
		{"the default one", claim(nil), []storagev1.StorageClass{standard, other}, Pass, "slow"},
		{"no default", claim(nil), []storagev1.StorageClass{other}, Fail, "db.storageClassName"},
		{"none at all", claim(nil), nil, Fail, "the cluster has no StorageClass"},
		{"by name", claim(&fast), []storagev1.StorageClass{other}, Pass, "fast"},
		{"a name that is none", claim(&slow), []storagev1.StorageClass{other}, Fail, "StorageClass slow does not exist; the cluster has fast"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			expect(t, judgeStorage(tc.claims, tc.classes, "db.storageClassName"), tc.want, tc.words)
		})
	}
}

func TestTheMasterMustFitTheLimits(t *testing.T) {
	t.Parallel()
	c, err := sumObjects(objects(t))
	if err != nil {
		t.Fatal(err)
	}
	quota := func(name corev1.ResourceName, hard, used string) corev1.ResourceQuota {
		return corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Status: corev1.ResourceQuotaStatus{
			Hard: corev1.ResourceList{name: resource.MustParse(hard)}, Used: corev1.ResourceList{name: resource.MustParse(used)},
		}}
	}
	limit := func(kind corev1.LimitType, name corev1.ResourceName, most string) corev1.LimitRange {
		return corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "l"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: kind, Max: corev1.ResourceList{name: resource.MustParse(most)}}}}}
	}
	filled := corev1.LimitRange{Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Default: corev1.ResourceList{"memory": resource.MustParse("1Gi")}}}}}
	scoped := quota("pods", "0", "0")
	scoped.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}
	for _, tc := range []struct {
		name   string
		quotas []corev1.ResourceQuota
		limits []corev1.LimitRange
		want   Answer
		words  string
	}{
		{"none", nil, nil, Pass, "none"},
		{"room", []corev1.ResourceQuota{quota("pods", "10", "8")}, nil, Pass, "the master fits"},
		{"no pod left", []corev1.ResourceQuota{quota("pods", "10", "9")}, nil, Fail, "1 of pods left, and 2 is required"},
		{"no CPU left", []corev1.ResourceQuota{quota("requests.cpu", "4", "3500m")}, nil, Fail, "500m of requests.cpu left, and 1 is required"},
		{"CPU by its short name", []corev1.ResourceQuota{quota("cpu", "4", "4")}, nil, Fail, "0 of cpu left"},
		{"no load balancer allowed", []corev1.ResourceQuota{quota("services.loadbalancers", "0", "0")}, nil, Fail, "services.loadbalancers"},
		{"a quota for others", []corev1.ResourceQuota{scoped}, nil, Pass, ""},
		{"limits that nobody states", []corev1.ResourceQuota{quota("limits.memory", "100Gi", "0")}, nil, Fail, "requires limits.memory of every container, and container main does not set it"},
		{"limits that a LimitRange states", []corev1.ResourceQuota{quota("limits.memory", "100Gi", "0")}, []corev1.LimitRange{filled}, Pass, ""},
		{"a container too large", nil, []corev1.LimitRange{limit(corev1.LimitTypeContainer, "cpu", "250m")}, Fail, "main requests 500m"},
		{"a volume too large", nil, []corev1.LimitRange{limit(corev1.LimitTypePersistentVolumeClaim, "storage", "1Gi")}, Fail, "data requests 30Gi"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			expect(t, judgeLimits(c, tc.quotas, tc.limits, "lab"), tc.want, tc.words)
		})
	}
}

func TestTheCertificateMustBeUsable(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	cert, key := pair(t, now.Add(-time.Hour), now.AddDate(1, 0, 0), "master.lab")
	_, otherKey := pair(t, now.Add(-time.Hour), now.AddDate(1, 0, 0), "master.lab")
	old, oldKey := pair(t, now.AddDate(-1, 0, 0), now.Add(-time.Hour), "master.lab")
	ending, endingKey := pair(t, now.AddDate(-1, 0, 0), now.Add(48*time.Hour), "master.lab")
	nobody, nobodyKey := pair(t, now.Add(-time.Hour), now.AddDate(1, 0, 0))
	for _, tc := range []struct {
		name      string
		kind      corev1.SecretType
		cert, key []byte
		want      Answer
		words     string
	}{
		{"good", corev1.SecretTypeTLS, cert, key, Pass, "master.lab"},
		{"another type", corev1.SecretTypeOpaque, cert, key, Fail, "Opaque"},
		{"no certificate", corev1.SecretTypeTLS, nil, key, Fail, ""},
		{"another's key", corev1.SecretTypeTLS, cert, otherKey, Fail, "does not match"},
		{"expired", corev1.SecretTypeTLS, old, oldKey, Fail, "expired on 2026-11-20"},
		{"expires soon", corev1.SecretTypeTLS, ending, endingKey, Unknown, "expires on 2026-11-23"},
		{"no subject alternative names", corev1.SecretTypeTLS, nobody, nobodyKey, Fail, "no subject alternative names"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := judgeTLS(&corev1.Secret{Type: tc.kind, Data: map[string][]byte{"tls.crt": tc.cert, "tls.key": tc.key}}, now)
			got.Fix = "kubectl"
			expect(t, got, tc.want, tc.words)
		})
	}
}

func pair(t *testing.T, from, until time.Time, names ...string) (cert, key []byte) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: until, DNSNames: names}
	der, err := x509.CreateCertificate(rand.Reader, c, c, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: text})
}

func TestLoadBalancerHeuristic(t *testing.T) {
	t.Parallel()
	with := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
	without := with
	with.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	gce := corev1.Node{Spec: corev1.NodeSpec{ProviderID: "gce://p/z/n"}}
	kind := corev1.Node{Spec: corev1.NodeSpec{ProviderID: "kind://docker/kind/n"}}
	expect(t, judgeBalancer([]corev1.Service{without, with}, nil), Pass, "a/b")
	expect(t, judgeBalancer([]corev1.Service{without}, []corev1.Node{gce}), Pass, "gce")
	expect(t, judgeBalancer([]corev1.Service{without}, []corev1.Node{kind}), Unknown, "useNodePortForMaster")
}

// objects is a small rendered chart.
func objects(t *testing.T) []helm.Object {
	t.Helper()
	of := func(api, kind, name, text string) helm.Object {
		return helm.Object{APIVersion: api, Kind: kind, Namespace: "lab", Name: name, YAML: "apiVersion: " + api + "\nkind: " + kind + "\nmetadata: {name: " + name + "}\n" + text}
	}
	return []helm.Object{
		of("v1", "Secret", "config", ""),
		of("v1", "PersistentVolumeClaim", "data", "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 30Gi}}}\n"),
		of("rbac.authorization.k8s.io/v1", "Role", "master", "rules: [{apiGroups: [batch], resources: [jobs], verbs: [create, get]}, {apiGroups: [''], resources: [secrets], resourceNames: [made], verbs: [get]}]\n"),
		of("rbac.authorization.k8s.io/v1", "ClusterRole", "nodes", "rules: [{apiGroups: [''], resources: [nodes], verbs: [list]}]\n"),
		of("networking.k8s.io/v1", "NetworkPolicy", "net", "spec: {podSelector: {}}\n"),
		of("v1", "Service", "front", "spec: {type: LoadBalancer, ports: [{port: 8080}]}\n"),
		of("apps/v1", "Deployment", "master", "spec: {replicas: 2, template: {spec: {containers: [{name: main, image: a, resources: {requests: {cpu: 500m, memory: 1Gi}}}]}}}\n"),
	}
}

func TestChecksFollowValues(t *testing.T) {
	t.Parallel()
	var w Wanted
	err := w.Read(map[string]any{
		"imagePullSecretName": "pull", "tlsSecret": nil, "slotType": "gpu", "maxSlotsPerPod": int64(8), "defaultScheduler": "coscheduler",
		"checkpointStorage": map[string]any{"type": "shared_fs", "mountToServer": true}, "db": map[string]any{"hostAddress": "db.example"},
		"taskContainerDefaults": map[string]any{"gpuPodSpec": map[string]any{"spec": map[string]any{
			"tolerations": []any{map[string]any{"key": "team", "operator": "Exists"}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if w.PullSecret != "pull" || w.TLSSecret != "" || w.DatabaseHost != "db.example" || !w.Coscheduler || !w.HostPaths {
		t.Errorf("got %+v", w)
	}
	if w.Slots.Resource != "nvidia.com/gpu" || w.Slots.MaxPerPod != 8 || len(w.Slots.Tolerations) != 2 {
		t.Errorf("got %+v", w.Slots)
	}
	if err := w.Read(map[string]any{
		"initialUserPasswordExistingSecret": map[string]any{"name": "first", "key": "password"},
		"checkpointStorage":                 map[string]any{"accessKeyExistingSecret": map[string]any{"name": "s3", "key": "id"}},
		"db":                                map[string]any{"certResourceName": "db-ca", "sslRootCert": "ca.pem"},
		"externalCaCertSecretName":          "our-ca", "resourceManager": map[string]any{"defaultNamespace": "gpus"},
		"ingress": map[string]any{"enabled": false, "tlsSecret": "unused"},
	}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(w.Named, []Named{
		{"checkpointStorage.accessKeyExistingSecret", "s3", "id"},
		{"initialUserPasswordExistingSecret", "first", "password"},
		{"externalCaCertSecretName", "our-ca", ""},
		{"db.certResourceName", "db-ca", "ca.pem"},
	}); d != "" || w.TaskNamespace != "gpus" {
		t.Errorf("got tasks in %q and -, want +:\n%s", w.TaskNamespace, d)
	}
	made := Wanted{Namespace: "ml", Objects: []helm.Object{{APIVersion: "v1", Kind: "Namespace", Name: "ml-lab-tasks"}}}
	if err := made.Read(map[string]any{}); err != nil || made.TaskNamespace != "ml-lab-tasks" || !made.MakesTaskNamespace {
		t.Errorf("got tasks in %q, %v, %v; want the namespace that the chart makes", made.TaskNamespace, made.MakesTaskNamespace, err)
	}
	var parts Wanted
	if err := parts.Read(map[string]any{"slotResource": "nvidia.com/mig-1g.10gb"}); err != nil || parts.Slots.Resource != "nvidia.com/mig-1g.10gb" || len(parts.Slots.Tolerations) != 2 {
		t.Errorf("got %+v (%v), want parts of GPUs, and that the taints of both names are tolerated", parts.Slots, err)
	}
	var cpu Wanted
	if err := cpu.Read(map[string]any{"slotType": "cpu"}); err != nil || cpu.Slots.Resource != "" {
		t.Errorf("got %+v (%v), want no GPUs", cpu.Slots, err)
	}
}

// A user who may not create namespaces gets advice for an installation without.
func TestTaskNamespaceBelongsToRelease(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		there  *corev1.Namespace
		denied bool
		answer Answer
		says   string
	}{
		"is to be made":       {answer: Pass, says: "will be created"},
		"may not be made":     {denied: true, answer: Fail, says: "permission to create namespaces is missing"},
		"was made by us":      {there: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"meta.helm.sh/release-namespace": "ml"}}}, answer: Pass, says: "it exists"},
		"is somebody else's":  {there: &corev1.Namespace{}, answer: Fail, says: "not created by a release of namespace ml"},
		"goes at this moment": {there: &corev1.Namespace{Status: corev1.NamespaceStatus{Phase: corev1.NamespaceTerminating}}, answer: Fail, says: "being deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := fake.NewClientset()
			if test.there != nil {
				test.there.Name = "ml-lab-tasks"
				client = fake.NewClientset(test.there)
			}
			client.PrependReactor("create", "selfsubjectaccessreviews", func(k8stesting.Action) (bool, runtime.Object, error) {
				return true, &authorizationv1.SelfSubjectAccessReview{Status: authorizationv1.SubjectAccessReviewStatus{Allowed: !test.denied}}, nil
			})
			w := Wanted{Client: client, Namespace: "ml", TaskNamespace: "ml-lab-tasks", MakesTaskNamespace: true}
			r := w.taskNamespace(t.Context())
			if r.Answer != test.answer || !strings.Contains(r.Found, test.says) {
				t.Errorf("got %+v, want %s and %q", r, test.answer, test.says)
			}
			if test.denied && !strings.Contains(r.Fix, "resourceManager.defaultNamespace=NAMESPACE") {
				t.Errorf("got the remedy %q, want the value that names a namespace", r.Fix)
			}
		})
	}
}

func TestTheClaimOfCheckpointsIsLookedForWhereTasksRun(t *testing.T) {
	t.Parallel()
	claim := func(namespace string, mode corev1.PersistentVolumeAccessMode) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: "trials", Namespace: namespace},
			Spec:       corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{mode}},
		}
	}
	for _, c := range []struct {
		name  string
		there *corev1.PersistentVolumeClaim
		want  Answer
		words string
	}{
		{"in the namespace of the master", claim("ml", corev1.ReadWriteMany), Unknown, "namespace jobs has no claim trials"},
		{"for all nodes", claim("jobs", corev1.ReadWriteMany), Pass, "mountable on all nodes"},
		{"for one node", claim("jobs", corev1.ReadWriteOnce), Pass, "mountable on one node at a time (ReadWriteOnce)"},
	} {
		w := Wanted{Client: fake.NewClientset(c.there), Namespace: "ml"}
		if err := w.Read(map[string]any{"checkpointStorage": map[string]any{"type": "shared_fs", "existingClaim": "trials"}, "resourceManager": map[string]any{"defaultNamespace": "jobs"}}); err != nil {
			t.Fatal(err)
		}
		expect(t, w.checkCheckpoints(t.Context()), c.want, c.words)
	}
}

// makesClaim returns the chart's role for a checkpoint claim that the master creates.
func makesClaim() helm.Object {
	role := "kind: Role\nrules: [{apiGroups: [\"\"], resources: [persistentvolumeclaims], resourceNames: [determined-checkpoints-lab], verbs: [get]}]"
	return helm.Object{Kind: "Role", Name: "determined-master-lab", YAML: role}
}

func TestClaimOfMasterIsCheckedAsFound(t *testing.T) {
	t.Parallel()
	there := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "determined-checkpoints-lab", Namespace: "ml"},
		Spec:       corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}},
	}
	w := Wanted{Client: fake.NewClientset(there), Namespace: "ml", Objects: []helm.Object{makesClaim()}}
	if err := w.Read(map[string]any{"checkpointStorage": map[string]any{"type": "shared_fs", "accessMode": "ReadWriteMany"}}); err != nil {
		t.Fatal(err)
	}
	expect(t, w.checkCheckpoints(t.Context()), Pass, "claim determined-checkpoints-lab, mountable on one node at a time")
}

// By default the chart's namespace is baseline and checkpoints go to a claim that the master
// creates there; a directory of the node needs a privileged namespace.
func TestCheckpointsRequireMountableStorage(t *testing.T) {
	t.Parallel()
	namespace := func(name, level string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{enforceLabel: level}}}
	}
	class := func(name string, isDefault bool) *storagev1.StorageClass {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": strconv.FormatBool(isDefault)},
		}}
	}
	storage := func(pairs ...any) map[string]any {
		out := map[string]any{"type": "shared_fs"}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i].(string)] = pairs[i+1]
		}
		return map[string]any{"checkpointStorage": out}
	}
	made := func(level string) []helm.Object {
		return []helm.Object{{Kind: "Namespace", Name: "ml-lab-tasks", YAML: "kind: Namespace\nmetadata: {name: ml-lab-tasks, labels: {" + enforceLabel + ": " + level + "}}"}}
	}
	for _, c := range []struct {
		name    string
		objects []helm.Object
		there   runtime.Object
		values  map[string]any
		want    Answer
		words   string
	}{
		{"the master's claim", append(made("baseline"), makesClaim()), class("standard", true), nil, Pass, "the master creates a volume claim in namespace ml-lab-tasks, mountable on one node at a time"},
		{"the master's claim for all nodes", append(made("baseline"), makesClaim()), class("nfs", false), storage("storageClassName", "nfs", "accessMode", "ReadWriteMany"), Pass, "mountable on all nodes"},
		{"no class for it", append(made("baseline"), makesClaim()), class("nfs", false), nil, Unknown, "there is no default StorageClass; the cluster has nfs: experiments without their own storage are rejected"},
		{"how to name one", append(made("baseline"), makesClaim()), class("nfs", false), nil, Unknown, "--set checkpointStorage.storageClassName=NAME"},
		{"its class is not there", append(made("baseline"), makesClaim()), class("standard", true), storage("storageClassName", "nfs"), Unknown, "StorageClass nfs does not exist"},
		{"a claim in a namespace that is there", []helm.Object{makesClaim()}, class("nfs", false), storage("storageClassName", "nfs"), Pass, "the master creates a volume claim in namespace ml, mountable"},
		{"a directory was asked for", made("baseline"), namespace("ml", ""), storage("hostPath", "/srv"), Unknown, "checkpointStorage.existingClaim=NAME, a volume claim of namespace ml-lab-tasks"},
		{"the master mounts it", made("baseline"), namespace("ml", ""), storage("mountToServer", true), Unknown, "checkpointStorage.hostPath=/tmp/checkpoints"},
		{"the chart's own, as it was before", made("privileged"), namespace("ml-lab-tasks", "baseline"), nil, Pass, ""},
		{"a named one", nil, namespace("jobs", "restricted"), map[string]any{"resourceManager": map[string]any{"defaultNamespace": "jobs"}}, Unknown, "namespace jobs may not mount (Pod Security level restricted)"},
		{"a named one without a level", nil, namespace("jobs", ""), map[string]any{"resourceManager": map[string]any{"defaultNamespace": "jobs"}}, Pass, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := Wanted{Client: fake.NewClientset(c.there), Namespace: "ml", Objects: c.objects}
			values := map[string]any{"checkpointStorage": map[string]any{"type": "shared_fs"}}
			maps.Copy(values, c.values)
			if err := w.Read(values); err != nil {
				t.Fatal(err)
			}
			for _, check := range Checks(w) {
				if check.Name == "checkpoint storage" {
					expect(t, check.Look(t.Context()), c.want, c.words)
					return
				}
			}
			t.Error("got no check of the checkpoint storage")
		})
	}
}
