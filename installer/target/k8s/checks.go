package k8s

import (
	"cmp"
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/det-deploy/det-deploy/installer/doctor"
	preflight "github.com/det-deploy/det-deploy/k8s/doctor"
	"github.com/det-deploy/det-deploy/k8s/helm"
)

// Checks lists what has to hold before anything is changed.
func (t *Target) Checks() []doctor.Check {
	out, err := helm.Render(t.wanted(), helm.NoServer())
	if err != nil {
		return []doctor.Check{{Name: "values", Look: func(context.Context) doctor.Result {
			return doctor.Result{Answer: doctor.Fail, Found: strings.ReplaceAll(err.Error(), "\n", "; "), Needed: "values that the chart takes", Fix: "`det-deploy k8s values --default` explains them"}
		}}}
	}
	var checks []doctor.Check
	for _, c := range preflight.Checks(t.asked(out.Objects)) {
		checks = append(checks, doctor.Check{Name: c.Name, Look: func(ctx context.Context) doctor.Result {
			r := c.Look(ctx)
			return doctor.Result{Answer: doctor.Answer(r.Answer), Found: r.Found, Needed: r.Needed, Fix: r.Fix}
		}})
	}
	return checks
}

// asked is what the checks depend on.
func (t *Target) asked(objects []helm.Object) preflight.Wanted {
	v := t.Values
	return preflight.Wanted{
		Client: t.API, Namespace: t.Namespace, CreateNamespace: t.CreateNamespace, Installed: t.Installed, Objects: objects,
		PullSecret: v.Text("imagePullSecretName"), TLSSecret: v.Text("tlsSecret"),
		Slots: preflight.Slots{
			Resource: SlotResource(v.Text("slotType")), MaxPerPod: v.Number("maxSlotsPerPod"), Tolerations: t.tolerations(),
		},
		Coscheduler:  v.Text("defaultScheduler") == "coscheduler",
		HostPaths:    cmp.Or(v.Text("checkpointStorage.type"), "shared_fs") == "shared_fs",
		DatabaseHost: v.Text("db.hostAddress"),
	}
}

// SlotResource is what a node has of a type of slots; empty for CPUs, which every node
// has.
func SlotResource(slotType string) corev1.ResourceName {
	switch slotType {
	case "cpu":
		return ""
	case "rocm":
		return "amd.com/gpu"
	default:
		return "nvidia.com/gpu"
	}
}

// tolerations are those of every task's pod with GPUs. A pool may have others, which
// no check can weigh against its nodes.
func (t *Target) tolerations() []corev1.Toleration {
	at, _ := t.Values.Get("taskContainerDefaults.gpuPodSpec.spec.tolerations")
	text, err := yaml.Marshal(at)
	if err != nil {
		return nil
	}
	var out []corev1.Toleration
	if yaml.Unmarshal(text, &out) != nil {
		return nil // the chart's own rules complain better
	}
	return out
}
