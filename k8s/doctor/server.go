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
		return passResult("it answers, as Kubernetes %s", v.GitVersion)
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
		return Result{Answer: Unknown, Found: "the server calls itself " + v.GitVersion, Needed: needed}
	}
	if v.Major == "1" && minor < MinMinor {
		return Result{Answer: Fail, Found: v.GitVersion, Needed: needed, Fix: "upgrade the cluster, or choose another with --context"}
	}
	return passResult("%s", v.GitVersion)
}

func (w Wanted) checkNamespace(ctx context.Context) Result {
	ns, err := w.Client.CoreV1().Namespaces().Get(ctx, w.Namespace, metav1.GetOptions{})
	switch {
	case err == nil && ns.Status.Phase == corev1.NamespaceTerminating:
		return Result{Answer: Fail, Found: "it is being deleted", Needed: "a namespace that stays", Fix: "wait until it is gone, or choose another with --namespace"}
	case err == nil:
		return passResult("it exists")
	case !apierrors.IsNotFound(err):
		return unknownResult(kube.Call{Verb: "get", Resource: "namespaces", Name: w.Namespace}, err)
	case !w.CreateNamespace:
		return Result{
			Answer: Fail, Found: "it does not exist", Needed: "the namespace",
			Fix: "give --create-namespace, or make it with `kubectl create namespace " + w.Namespace + "`",
		}
	}
	denied, err := w.listDenied(ctx, []need{{verb: "create", resource: "namespaces"}})
	if err != nil {
		return unknownResult(kube.Call{Verb: "create", Resource: "selfsubjectaccessreviews"}, err)
	}
	if len(denied) > 0 {
		return Result{
			Answer: Fail, Found: "it does not exist, and you may not make namespaces", Needed: "the namespace",
			Fix: "ask the cluster's administrator for `kubectl create namespace " + w.Namespace + "`",
		}
	}
	return passResult("it does not exist and will be made")
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
		r.Fix = "make it with `kubectl create namespace " + w.TaskNamespace + "`, or name another with resourceManager.defaultNamespace"
	}
	return r
}

// fixTaskNamespace is the advice for a user who may not create namespaces.
const fixTaskNamespace = "name one that exists with --set resourceManager.defaultNamespace=NAMESPACE; " +
	"the release's own keeps tasks beside the master, where only the master's checks of pod specs keep them from its Secrets and volumes"

func (w Wanted) madeNamespace(ctx context.Context) Result {
	ns, err := w.Client.CoreV1().Namespaces().Get(ctx, w.TaskNamespace, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return unknownResult(kube.Call{Verb: "get", Resource: "namespaces", Name: w.TaskNamespace}, err)
	case ns.Status.Phase == corev1.NamespaceTerminating:
		return Result{Answer: Fail, Found: "it is being deleted", Needed: "that it is gone", Fix: "wait until it is gone"}
	case ns.Annotations["meta.helm.sh/release-namespace"] != w.Namespace:
		return Result{Answer: Fail, Found: "it exists, and no release of namespace " + w.Namespace + " has made it", Needed: "a namespace that the chart makes", Fix: fixTaskNamespace}
	default:
		return passResult("it exists, and a release of namespace %s has made it", w.Namespace)
	}
	denied, err := w.listDenied(ctx, []need{{verb: "create", resource: "namespaces"}})
	if err != nil {
		return unknownResult(kube.Call{Verb: "create", Resource: "selfsubjectaccessreviews"}, err)
	}
	if len(denied) > 0 {
		return Result{Answer: Fail, Found: "it does not exist, and you may not make namespaces", Needed: "a namespace for tasks", Fix: fixTaskNamespace}
	}
	return passResult("it does not exist and will be made")
}

// checkCoscheduler returns a warning that tasks run in the master's namespace.
func (w Wanted) checkCoscheduler(context.Context) Result {
	return Result{
		Answer: Unknown, Found: "tasks run in namespace " + w.Namespace + ", as resourceManager.defaultNamespace says: only the master's checks of pod specs keep them from its Secrets and volumes",
		Needed: "a namespace of their own", Fix: "leave resourceManager.defaultNamespace out, or name another namespace",
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
		return passResult("a new namespace has no level of its own")
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
		return passResult("it lets every pod in")
	case hostPaths:
		return Result{
			Answer: Fail, Found: "it enforces " + level, Needed: "privileged, because the master mounts a directory of its node (checkpointStorage.mountToServer)",
			Fix: fmt.Sprintf(fix, "privileged") + ", or leave checkpointStorage.mountToServer out",
		}
	case level == "restricted" && !tasks:
		return passResult("it enforces restricted, and the master and its database keep within it")
	case level == "restricted" && root:
		return Result{
			Answer: Unknown, Found: "it enforces restricted: the master and its database keep within it, and so do tasks of users with an account that is not root; tasks that run as root are refused",
			Needed: "tasks that do not run as root",
			Fix:    "--set security.defaultTask.user=det,security.defaultTask.uid=1000,security.defaultTask.group=det,security.defaultTask.gid=1000, and `det user link-with-agent-user` for users with accounts of their own; or " + fmt.Sprintf(fix, "baseline"),
		}
	case level == "restricted":
		return passResult("it enforces restricted, and tasks keep within it unless they run as root or their own pod spec asks for more")
	}
	return passResult("it enforces %s, and tasks keep within it unless their own pod spec asks for more", level)
}

func (w Wanted) coscheduler(ctx context.Context) Result {
	groups, err := discovery.ToDiscoveryInterfaceWithContext(w.Client.Discovery()).ServerGroupsWithContext(ctx)
	if err != nil {
		return unknownResult(kube.Call{Verb: "get", Resource: "apis"}, err)
	}
	if slices.ContainsFunc(groups.Groups, func(g metav1.APIGroup) bool { return g.Name == "scheduling.x-k8s.io" }) {
		return passResult("the cluster knows PodGroups")
	}
	return Result{
		Answer: Fail, Found: "the cluster knows no PodGroup (scheduling.x-k8s.io)", Needed: "the scheduler plugin's CustomResourceDefinition",
		Fix: "install it from the project scheduler-plugins, or leave defaultScheduler empty: tasks of several pods start all together or not at all either way",
	}
}

func networkPolicies(context.Context) Result {
	return Result{
		Answer: Unknown, Found: "whether the cluster's network enforces NetworkPolicies cannot be seen from its API",
		Needed: "a network plugin that does", Fix: "ask who runs the cluster; one that does not is no less reachable, only less closed",
	}
}

func (w Wanted) checkDatabase(context.Context) Result {
	return Result{
		Answer: Unknown, Found: "whether pods reach it can be seen only from within the cluster",
		Needed: "PostgreSQL 13 or newer that answers at db.hostAddress", Fix: "`det-deploy k8s status` shows what the master says about it after the start",
	}
}
