package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/det-deploy/det-deploy/k8s/helm"
	"github.com/det-deploy/det-deploy/k8s/kube"
)

// chartClaims returns the chart's volume claims. It skips an invalid one, which the API server will
// reject.
func chartClaims(objects []helm.Object) []corev1.PersistentVolumeClaim {
	var out []corev1.PersistentVolumeClaim
	for _, o := range objects {
		var p corev1.PersistentVolumeClaim
		if o.Kind == "PersistentVolumeClaim" && yaml.Unmarshal([]byte(o.YAML), &p) == nil {
			out = append(out, p)
		}
	}
	return out
}

func (w Wanted) checkStorage(ctx context.Context) Result {
	list, err := w.Client.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return unknownResult(kube.Call{Verb: "list", Group: "storage.k8s.io", Resource: "storageclasses"}, err)
	}
	return judgeStorage(chartClaims(w.Objects), list.Items, "db.storageClassName")
}

// judgeStorage checks that the class of every claim exists; value is the value that sets it. It
// makes no calls.
func judgeStorage(claims []corev1.PersistentVolumeClaim, classes []storagev1.StorageClass, value string) Result {
	var names, used []string
	standard := ""
	for _, c := range classes {
		names = append(names, c.Name)
		if kube.IsDefaultClass(c) {
			standard = c.Name
		}
	}
	slices.Sort(names)
	has := "the cluster has " + strings.Join(names, ", ")
	if len(names) == 0 {
		has = "the cluster has no StorageClass"
	}
	for _, c := range claims {
		class := standard
		if c.Spec.StorageClassName != nil {
			class = *c.Spec.StorageClassName
		}
		switch {
		case class == "" && c.Spec.StorageClassName == nil:
			return Result{
				Answer: Fail, Found: "there is no default StorageClass; " + has, Needed: "a StorageClass for the claim " + c.Name,
				Fix: "--set " + value + "=NAME, or `kubectl annotate storageclass NAME storageclass.kubernetes.io/is-default-class=true`",
			}
		case class != "" && !slices.Contains(names, class):
			return Result{
				Answer: Fail, Found: fmt.Sprintf("StorageClass %s does not exist; %s", class, has), Needed: "a StorageClass for the claim " + c.Name,
				Fix: "--set " + value + "=NAME with a class listed by `kubectl get storageclass`",
			}
		}
		used = append(used, class)
	}
	slices.Sort(used)
	return passResult("volumes are provisioned by %s", strings.Join(slices.Compact(used), ", "))
}

// checkClaim checks the existing volume claim for checkpoints.
func (w Wanted) checkClaim(ctx context.Context) Result {
	namespace := w.tasksNamespace()
	call := kube.Call{Verb: "get", Resource: "persistentvolumeclaims", Namespace: namespace, Name: w.CheckpointClaim}
	claim, err := w.Client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, w.CheckpointClaim, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return Result{
			Answer: Unknown, Needed: "a volume claim for checkpoints",
			Found: fmt.Sprintf("namespace %s has no claim %s: trials wait until it exists", namespace, w.CheckpointClaim),
			Fix:   fmt.Sprintf("create the claim in namespace %s; if the chart creates that namespace, run `install` first", namespace),
		}
	}
	if err != nil {
		return unknownResult(call, err)
	}
	return judgeClaim(claim)
}

// judgeClaim describes a claim. It makes no calls.
func judgeClaim(claim *corev1.PersistentVolumeClaim) Result {
	if slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteMany) {
		return passResult("claim %s, mountable on all nodes", claim.Name)
	}
	return passResult("claim %s, mountable on one node at a time (%s)", claim.Name, joinModes(claim.Spec.AccessModes))
}

func joinModes(modes []corev1.PersistentVolumeAccessMode) string {
	var out []string
	for _, m := range modes {
		out = append(out, string(m))
	}
	return strings.Join(out, ", ")
}

// checkCheckpoints checks whether trials can mount the storage of shared_fs.
func (w Wanted) checkCheckpoints(ctx context.Context) Result {
	if w.CheckpointClaim != "" {
		return w.checkClaim(ctx)
	}
	if name := madeClaim(w.Objects); name != "" {
		return w.checkMadeClaim(ctx, name)
	}
	for _, o := range w.Objects {
		var ns corev1.Namespace
		if o.Kind == "Namespace" && o.Name == w.TaskNamespace && yaml.Unmarshal([]byte(o.YAML), &ns) == nil {
			return judgeCheckpoints(w.TaskNamespace, ns.Labels[enforceLabel])
		}
	}
	name := w.tasksNamespace()
	ns, err := w.Client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return judgeCheckpoints(name, "")
	}
	if err != nil {
		return unknownResult(kube.Call{Verb: "get", Resource: "namespaces", Name: name}, err)
	}
	return judgeCheckpoints(name, ns.Labels[enforceLabel])
}

// checkMadeClaim checks the claim that the master creates or, before that, its storage class.
func (w Wanted) checkMadeClaim(ctx context.Context, name string) Result {
	there, err := w.Client.CoreV1().PersistentVolumeClaims(w.tasksNamespace()).Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		return judgeClaim(there) // the master uses an existing claim unchanged
	}
	list, err := w.Client.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return unknownResult(kube.Call{Verb: "list", Group: "storage.k8s.io", Resource: "storageclasses"}, err)
	}
	claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if w.CheckpointClass != "" {
		claim.Spec.StorageClassName = &w.CheckpointClass
	}
	r := judgeStorage([]corev1.PersistentVolumeClaim{claim}, list.Items, "checkpointStorage.storageClassName")
	if r.Answer == Fail {
		// Only experiments without their own storage are affected.
		r.Answer = Unknown
		r.Found += ": experiments without their own storage are rejected"
		r.Fix += "; or --set checkpointStorage.type=s3 with a bucket (gcs and azure likewise)"
		return r
	}
	if w.CheckpointMode == string(corev1.ReadWriteMany) {
		return passResult("the master creates a volume claim in namespace %s, mountable on all nodes", w.tasksNamespace())
	}
	return passResult("the master creates a volume claim in namespace %s, mountable on one node at a time; "+
		"use --set checkpointStorage.accessMode=ReadWriteMany if its class supports it", w.tasksNamespace())
}

// madeClaim returns the name of the claim that the master creates, from the chart's roles, or "".
func madeClaim(objects []helm.Object) string {
	for _, o := range objects {
		var role rbacv1.Role
		if o.Kind != "Role" || yaml.Unmarshal([]byte(o.YAML), &role) != nil {
			continue
		}
		for _, rule := range role.Rules {
			if slices.Contains(rule.Resources, "persistentvolumeclaims") && len(rule.ResourceNames) == 1 {
				return rule.ResourceNames[0]
			}
		}
	}
	return ""
}

// enforceLabel is the namespace label with the Pod Security level.
const enforceLabel = "pod-security.kubernetes.io/enforce"

// judgeCheckpoints checks the Pod Security level for hostPath volumes. The result is at worst
// unknown, because only experiments without their own storage need them. It makes no calls.
func judgeCheckpoints(namespace, level string) Result {
	if level == "" || level == "privileged" {
		return passResult("a directory of each node (shared_fs), which must be the same on all nodes")
	}
	return Result{
		Answer: Unknown, Needed: "storage for checkpoints that pods may mount",
		Found: fmt.Sprintf("checkpointStorage is a directory of each node (shared_fs), which pods in namespace %s may not mount (Pod Security level %s): experiments without their own storage are rejected", namespace, level),
		Fix: "--set checkpointStorage.type=s3,checkpointStorage.bucket=NAME (or gcs, azure); --set checkpointStorage.existingClaim=NAME, a volume claim of namespace " + namespace + "; " +
			"or, for a first try, --set checkpointStorage.hostPath=/tmp/checkpoints, which makes the chart's task namespace privileged",
	}
}

func loadBalancer(o helm.Object) bool {
	var s corev1.Service
	return o.Kind == "Service" && yaml.Unmarshal([]byte(o.YAML), &s) == nil && s.Spec.Type == corev1.ServiceTypeLoadBalancer
}

func (w Wanted) checkBalancer(ctx context.Context) Result {
	services, err := w.Client.CoreV1().Services("").List(ctx, metav1.ListOptions{})
	if err != nil {
		services = &corev1.ServiceList{} // a user without this permission may still list nodes
	}
	nodes, err := w.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		nodes = &corev1.NodeList{}
	}
	return judgeBalancer(services.Items, nodes.Items)
}

// judgeBalancer is a heuristic, because the API does not show whether a controller assigns
// addresses. It makes no calls.
func judgeBalancer(services []corev1.Service, nodes []corev1.Node) Result {
	for _, s := range services {
		if s.Spec.Type == corev1.ServiceTypeLoadBalancer && len(s.Status.LoadBalancer.Ingress) > 0 {
			return passResult("service %s/%s has a load balancer address", s.Namespace, s.Name)
		}
	}
	for _, n := range nodes {
		cloud, _, _ := strings.Cut(n.Spec.ProviderID, "://")
		if slices.Contains([]string{"aws", "gce", "azure", "oci", "digitalocean", "linode", "hcloud", "openstack", "ibm"}, cloud) {
			return passResult("the nodes run on %s, which provides load balancers", cloud)
		}
	}
	return Result{
		Answer: Unknown, Found: "no Service has an address from a load balancer", Needed: "an address provider",
		Fix: "--set useNodePortForMaster=true if there is no load balancer; the Service always has a node port",
	}
}
