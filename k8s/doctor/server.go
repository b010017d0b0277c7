package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/k8s/kube"
)

// MinMinor is the minor version of the oldest supported Kubernetes 1.x. Scheduling gates, which
// hold back a gang until all its pods fit, are always enabled since 1.30.
const MinMinor = 30

func (w Wanted) serverVersion(ctx context.Context) (*version.Info, error) {
	return discovery.ToDiscoveryInterfaceWithContext(w.Client.Discovery()).ServerVersionWithContext(ctx)
}

func (w Wanted) checkReachable(ctx context.Context) Result {
	v, err := w.serverVersion(ctx)
	if err == nil {
		return passResult("it answers: Kubernetes %s", v.GitVersion)
	}
	err = kube.Translate(kube.Call{Verb: "get", Resource: "version"}, err)
	r := Result{Answer: Fail, Found: err.Error(), Needed: "an API server that answers"}
	if e, ok := errors.AsType[*cloud.Error](err); ok {
		r.Fix = e.Fix
	}
	return r
}

func (w Wanted) checkVersion(ctx context.Context) Result {
	v, err := w.serverVersion(ctx)
	if err != nil {
		return unknownResult(kube.Call{Verb: "get", Resource: "version"}, err)
	}
	return judgeVersion(v)
}

func judgeVersion(v *version.Info) Result {
	needed := fmt.Sprintf("Kubernetes 1.%d or newer, for scheduling gates and Indexed Jobs that replace a pod only when it has failed", MinMinor)
	minor, err := strconv.Atoi(strings.TrimRight(v.Minor, "+")) // some clouds append a "+"
	if err != nil || v.Major == "" {
		return Result{Answer: Unknown, Found: "unknown version " + v.GitVersion, Needed: needed}
	}
	if v.Major == "1" && minor < MinMinor {
		return Result{Answer: Fail, Found: v.GitVersion, Needed: needed, Fix: "upgrade the cluster, or select another with --context"}
	}
	return passResult("%s", v.GitVersion)
}

func (w Wanted) checkNamespace(ctx context.Context) Result {
	ns, err := w.Client.CoreV1().Namespaces().Get(ctx, w.Namespace, metav1.GetOptions{})
	switch {
	case err == nil && ns.Status.Phase == corev1.NamespaceTerminating:
		return Result{Answer: Fail, Found: "it is being deleted", Needed: "a namespace that is not being deleted", Fix: "wait until it is deleted, or select another with --namespace"}
	case err == nil:
		return passResult("it exists")
	case !apierrors.IsNotFound(err):
		return unknownResult(kube.Call{Verb: "get", Resource: "namespaces", Name: w.Namespace}, err)
	case !w.CreateNamespace:
		return Result{
			Answer: Fail, Found: "it does not exist", Needed: "the namespace",
			Fix: "use --create-namespace, or run `kubectl create namespace " + w.Namespace + "`",
		}
	}
	denied, err := w.listDenied(ctx, []need{{verb: "create", resource: "namespaces"}})
	if err != nil {
		return unknownResult(kube.Call{Verb: "create", Resource: "selfsubjectaccessreviews"}, err)
	}
	if len(denied) > 0 {
		return Result{
			Answer: Fail, Found: "it does not exist, and permission to create namespaces is missing", Needed: "the namespace",
			Fix: "ask an administrator to run `kubectl create namespace " + w.Namespace + "`",
		}
	}
	return passResult("it does not exist and will be created")
}

// taskNamespace checks the separate namespace of tasks: a namespace named in the values must exist,
// and one created by the chart must belong to the release.
func (w Wanted) taskNamespace(ctx context.Context) Result {
	if w.MakesTaskNamespace {
		return w.madeNamespace(ctx)
	}
	other := w
	other.Namespace, other.CreateNamespace = w.TaskNamespace, false
	r := other.checkNamespace(ctx)
	if r.Answer == Fail && r.Fix != "" {
		r.Fix = "run `kubectl create namespace " + w.TaskNamespace + "`, or set another one in resourceManager.defaultNamespace"
	}
	return r
}

// fixTaskNamespace is the advice for a user who may not create namespaces.
const fixTaskNamespace = "use an existing namespace with --set resourceManager.defaultNamespace=NAMESPACE; " +
	"in the release's own namespace, only the master's checks of pod specs protect its Secrets and volumes from tasks"

func (w Wanted) madeNamespace(ctx context.Context) Result {
	ns, err := w.Client.CoreV1().Namespaces().Get(ctx, w.TaskNamespace, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return unknownResult(kube.Call{Verb: "get", Resource: "namespaces", Name: w.TaskNamespace}, err)
	case ns.Status.Phase == corev1.NamespaceTerminating:
		return Result{Answer: Fail, Found: "it is being deleted", Needed: "that it is deleted", Fix: "wait until it is deleted"}
	case ns.Annotations["meta.helm.sh/release-namespace"] != w.Namespace:
		return Result{Answer: Fail, Found: "it exists, but was not created by a release of namespace " + w.Namespace, Needed: "a namespace created by the chart", Fix: fixTaskNamespace}
	default:
		return passResult("it exists, created by a release of namespace %s", w.Namespace)
	}
	denied, err := w.listDenied(ctx, []need{{verb: "create", resource: "namespaces"}})
	if err != nil {
		return unknownResult(kube.Call{Verb: "create", Resource: "selfsubjectaccessreviews"}, err)
	}
	if len(denied) > 0 {
		return Result{Answer: Fail, Found: "it does not exist, and permission to create namespaces is missing", Needed: "a namespace for tasks", Fix: fixTaskNamespace}
	}
	return passResult("it does not exist and will be created")
}

// checkSeparateNamespace returns a warning that tasks run in the master's namespace.
func (w Wanted) checkSeparateNamespace(context.Context) Result {
	return Result{
		Answer: Unknown, Found: "tasks run in namespace " + w.Namespace + " (resourceManager.defaultNamespace): only the master's checks of pod specs protect its Secrets and volumes from them",
		Needed: "a separate namespace for tasks", Fix: "remove resourceManager.defaultNamespace, or set it to another namespace",
	}
}

// podSecurity checks the namespace's Pod Security level.
func (w Wanted) podSecurity(ctx context.Context) Result {
	return w.podSecurityIn(ctx, w.Namespace, w.HostPaths, w.TaskNamespace == "")
}

// taskSecurity checks the Pod Security level of an existing task namespace.
func (w Wanted) taskSecurity(ctx context.Context) Result {
	return w.podSecurityIn(ctx, w.TaskNamespace, false, true)
}

func (w Wanted) podSecurityIn(ctx context.Context, namespace string, hostPaths, tasks bool) Result {
	ns, err := w.Client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return passResult("a new namespace has no Pod Security level")
	}
	if err != nil {
		return unknownResult(kube.Call{Verb: "get", Resource: "namespaces", Name: namespace}, err)
	}
	return judgePodSecurity(ns.Name, ns.Labels[enforceLabel], hostPaths, tasks, w.Tasks.Root)
}

// judgePodSecurity compares a Pod Security level with the requirements of the pods. hostPaths is
// true if the master mounts a directory of its node, tasks if tasks run in the namespace, and root
// if they run as root. It makes no calls.
func judgePodSecurity(namespace, level string, hostPaths, tasks, root bool) Result {
	fix := fmt.Sprintf("`kubectl label namespace %s pod-security.kubernetes.io/enforce=%%s --overwrite`", namespace)
	switch {
	case level == "" || level == "privileged":
		return passResult("no Pod Security restriction")
	case hostPaths:
		return Result{
			Answer: Fail, Found: "it enforces " + level, Needed: "privileged, because the master mounts a directory of its node (checkpointStorage.mountToServer)",
			Fix: fmt.Sprintf(fix, "privileged") + ", or disable checkpointStorage.mountToServer",
		}
	case level == "restricted" && !tasks:
		return passResult("it enforces restricted; the master and its database comply")
	case level == "restricted" && root:
		return Result{
			Answer: Unknown, Found: "it enforces restricted: the master, its database and tasks of users with a linked account other than root comply; tasks that run as root are rejected",
			Needed: "tasks that do not run as root",
			Fix:    "--set security.defaultTask.user=det,security.defaultTask.uid=1000,security.defaultTask.group=det,security.defaultTask.gid=1000, and `det user link-with-agent-user` for users with accounts of their own; or " + fmt.Sprintf(fix, "baseline"),
		}
	case level == "restricted":
		return passResult("it enforces restricted; tasks comply unless they run as root or their pod spec requests more")
	}
	return passResult("it enforces %s; tasks comply unless their pod spec requests more", level)
}

func (w Wanted) coscheduler(ctx context.Context) Result {
	groups, err := discovery.ToDiscoveryInterfaceWithContext(w.Client.Discovery()).ServerGroupsWithContext(ctx)
	if err != nil {
		return unknownResult(kube.Call{Verb: "get", Resource: "apis"}, err)
	}
	if slices.ContainsFunc(groups.Groups, func(g metav1.APIGroup) bool { return g.Name == "scheduling.x-k8s.io" }) {
		return passResult("PodGroups are installed")
	}
	return Result{
		Answer: Fail, Found: "PodGroup (scheduling.x-k8s.io) is not installed", Needed: "the scheduler plugin's CustomResourceDefinition",
		Fix: "install it from the project scheduler-plugins, or unset defaultScheduler: the pods of a task start together in both cases",
	}
}

func networkPolicies(context.Context) Result {
	return Result{
		Answer: Unknown, Found: "the API does not show whether the network plugin enforces NetworkPolicies",
		Needed: "a network plugin that enforces NetworkPolicies", Fix: "ask the cluster's administrator; without enforcement everything works, but traffic is not restricted",
	}
}

func (w Wanted) checkDatabase(context.Context) Result {
	return Result{
		Answer: Unknown, Found: "it can only be checked from within the cluster",
		Needed: "PostgreSQL 13 or newer that answers at db.hostAddress", Fix: "`det-deploy k8s status` shows the result after the start of the master",
	}
}
