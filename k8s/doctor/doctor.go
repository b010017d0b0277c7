// Package doctor says before anything is made whether a Kubernetes cluster can
// run what is to be put on it, and if not, lists everything that prevents it at
// once: its version, what one may do there, its storage, its GPUs, its limits.
// Every check only looks.
package doctor

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/k8s/helm"
	"github.com/det-deploy/det-deploy/k8s/kube"
)

// Answer is what a check says, in the words of the installer's doctor.
type Answer string

// The answers. What could not be checked is unknown, and stops no installation.
const (
	Pass    Answer = "pass"
	Fail    Answer = "fail"
	Unknown Answer = "unknown"
)

// Result is one check's answer.
type Result struct {
	Answer Answer
	// Found and Needed are what is there and what has to be.
	Found, Needed string
	// Fix is what to do, naming an existing command or value.
	Fix string
}

// Check looks at one thing.
type Check struct {
	Name string
	Look func(context.Context) Result
}

// Wanted is what is to be put on the cluster, as far as a check depends on it.
type Wanted struct {
	Client    kubernetes.Interface
	Namespace string
	// CreateNamespace is true when the namespace is made if it is not there.
	CreateNamespace bool
	// Installed is true when the release is there already: what it uses is in use.
	Installed bool
	// Objects are those of the chart, rendered.
	Objects []helm.Object

	// PullSecret and TLSSecret are names of Secrets that must exist, or empty.
	PullSecret, TLSSecret string
	// Named are the other entries of Secrets that must be there.
	Named []Named
	// TaskNamespace is that of tasks where it is not Namespace; MakesTaskNamespace is
	// true when the chart makes it.
	TaskNamespace      string
	MakesTaskNamespace bool
	// Slots says what a slot is, and Tasks what else the values say of tasks.
	Slots Slots
	Tasks Tasks
	// Coscheduler is true when tasks are scheduled by the plugin of that name.
	Coscheduler bool
	// HostPaths is true when the master mounts a directory of its node.
	HostPaths bool
	// SharedFS is true when checkpoints go to a directory of each node, or to CheckpointClaim.
	SharedFS        bool
	CheckpointClaim string
	// CheckpointClass and CheckpointMode are those of the claim that the master makes, empty for defaults.
	CheckpointClass, CheckpointMode string
	// DatabaseHost is a database outside the release, or empty.
	DatabaseHost string
}

// Named is an entry of a Secret that a value names; an empty key is any.
type Named struct{ Value, Name, Key string }

// Slots is what the values say about slots.
type Slots struct {
	// Resource is "nvidia.com/gpu" or "amd.com/gpu", or empty for CPUs.
	Resource corev1.ResourceName
	// MaxPerPod is maxSlotsPerPod.
	MaxPerPod int
	// Tolerations are those of task pods with GPUs.
	Tolerations []corev1.Toleration
}

// Checks are all that apply to what is wanted, in the order in which a person
// would ask.
func Checks(w Wanted) []Check {
	out := []Check{
		{"API server", w.checkReachable},
		{"Kubernetes version", w.checkVersion},
		{"namespace " + w.Namespace, w.checkNamespace},
		{"permission to install", w.mayInstall},
		{"permission to give the master its roles", w.mayGrant},
		{"permission to see what happens", w.mayWatch},
		{"Pod Security of namespace " + w.Namespace, w.podSecurity},
		{"quota of namespace " + w.Namespace, w.checkQuota},
	}
	if len(chartClaims(w.Objects)) > 0 {
		out = append(out, Check{"storage class", w.checkStorage})
	}
	if w.Slots.Resource != "" {
		out = append(out, Check{"GPUs", w.checkGPUs}, Check{"taints of GPU nodes", w.checkTaints})
	}
	if w.TaskNamespace != "" {
		out = append(out, Check{"namespace " + w.TaskNamespace + " of tasks", w.taskNamespace})
	} else {
		out = append(out, Check{"tasks apart from the master", w.checkCoscheduler})
	}
	if w.TaskNamespace != "" {
		out = append(out, Check{"permission to tend tasks", w.mayTend})
	}
	if w.TaskNamespace != "" && !w.MakesTaskNamespace {
		out = append(out, Check{"Pod Security of namespace " + w.TaskNamespace, w.taskSecurity})
	}
	if w.SharedFS {
		out = append(out, Check{"checkpoint storage", w.checkCheckpoints})
	}
	out = append(out, Check{"quota for tasks in namespace " + w.tasksNamespace(), w.taskQuota})
	if w.PullSecret != "" {
		out = append(out, Check{"pull secret " + w.PullSecret, w.pullSecret})
	}
	for _, n := range w.Named {
		out = append(out, Check{"secret " + n.Name + " of " + n.Value, func(ctx context.Context) Result { return w.checkNamed(ctx, n) }})
	}
	if w.TLSSecret != "" {
		out = append(out, Check{"TLS secret " + w.TLSSecret, w.tlsSecret})
	}
	if hasObject(w.Objects, loadBalancer) {
		out = append(out, Check{"load balancer", w.checkBalancer})
	}
	if w.Coscheduler {
		out = append(out, Check{"coscheduler", w.coscheduler})
	}
	if hasObject(w.Objects, func(o helm.Object) bool { return o.Kind == "NetworkPolicy" }) {
		out = append(out, Check{"network policies", networkPolicies})
	}
	if w.DatabaseHost != "" {
		out = append(out, Check{"database " + w.DatabaseHost, w.checkDatabase})
	}
	return out
}

func hasObject(objects []helm.Object, is func(helm.Object) bool) bool {
	for _, o := range objects {
		if is(o) {
			return true
		}
	}
	return false
}

// unknownResult is the answer of a check that could not look.
func unknownResult(call kube.Call, err error) Result {
	err = kube.Translate(call, err)
	r := Result{Answer: Unknown, Found: fmt.Sprintf("cannot be seen: %v", err)}
	if cloud.KindOf(err) == cloud.Denied {
		r.Found = fmt.Sprintf("cannot be seen: you may not %s %s", call.Verb, call.Resource)
	}
	return r
}

func passResult(format string, args ...any) Result {
	return Result{Answer: Pass, Found: fmt.Sprintf(format, args...)}
}
