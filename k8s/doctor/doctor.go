// Package doctor runs read-only preflight checks on a Kubernetes cluster before an installation,
// and reports all problems at once: its version, the user's permissions, storage, GPUs and limits.
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

// Answer is the outcome of a check, as in the installer's doctor.
type Answer string

// The outcomes of a check. Unknown does not stop an installation.
const (
	Pass    Answer = "pass"
	Fail    Answer = "fail"
	Unknown Answer = "unknown"
)

// Result is the result of a check.
type Result struct {
	Answer Answer
	// Found describes the current state and Needed the required one.
	Found, Needed string
	// Fix is a remedy with a command or value.
	Fix string
}

// Check is a named check.
type Check struct {
	Name string
	Look func(context.Context) Result
}

// Wanted describes the planned installation, as far as the checks depend on it.
type Wanted struct {
	Client    kubernetes.Interface
	Namespace string
	// CreateNamespace is true if the namespace is created when it does not exist.
	CreateNamespace bool
	// Installed is true if the release exists: its resources are already in use.
	Installed bool
	// Objects are the rendered objects of the chart.
	Objects []helm.Object

	// PullSecret and TLSSecret are the names of Secrets that must exist, or empty.
	PullSecret, TLSSecret string
	// Named are other required entries of Secrets.
	Named []Named
	// TaskNamespace is the namespace of tasks if it differs from Namespace; MakesTaskNamespace is
	// true if the chart creates it.
	TaskNamespace      string
	MakesTaskNamespace bool
	// Slots and Tasks are the values about slots and tasks.
	Slots Slots
	Tasks Tasks
	// Coscheduler is true if tasks are scheduled by the coscheduling plugin.
	Coscheduler bool
	// HostPaths is true if the master mounts a directory of its node.
	HostPaths bool
	// SharedFS is true if checkpoints are stored in a directory of each node, or in
	// CheckpointClaim.
	SharedFS        bool
	CheckpointClaim string
	// CheckpointClass and CheckpointMode are the storage class and access mode of the claim that
	// the master creates, or empty for defaults.
	CheckpointClass, CheckpointMode string
	// DatabaseHost is the host of an external database, or empty.
	DatabaseHost string
}

// Named is an entry of a Secret that a value references; an empty key means any.
type Named struct{ Value, Name, Key string }

// Slots contains the values about slots.
type Slots struct {
	// Resource is "nvidia.com/gpu" or "amd.com/gpu", or empty for CPUs.
	Resource corev1.ResourceName
	// MaxPerPod is maxSlotsPerPod.
	MaxPerPod int
	// Tolerations are the tolerations of task pods with GPUs.
	Tolerations []corev1.Toleration
}

// Checks returns the checks that apply to the installation, in order of relevance.
func Checks(w Wanted) []Check {
	out := []Check{
		{"API server", w.checkReachable},
		{"Kubernetes version", w.checkVersion},
		{"namespace " + w.Namespace, w.checkNamespace},
		{"permission to install", w.mayInstall},
		{"permission to grant the master's roles", w.mayGrant},
		{"permission to diagnose the release", w.mayWatch},
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
		out = append(out, Check{"separate namespace of tasks", w.checkSeparateNamespace})
	}
	if w.TaskNamespace != "" {
		out = append(out, Check{"permission to manage tasks", w.mayTend})
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

// unknownResult returns the result of a check whose call failed.
func unknownResult(call kube.Call, err error) Result {
	err = kube.Translate(call, err)
	r := Result{Answer: Unknown, Found: fmt.Sprintf("unknown: %v", err)}
	if cloud.KindOf(err) == cloud.Denied {
		r.Found = fmt.Sprintf("unknown: missing permission to %s %s", call.Verb, call.Resource)
	}
	return r
}

func passResult(format string, args ...any) Result {
	return Result{Answer: Pass, Found: fmt.Sprintf(format, args...)}
}
