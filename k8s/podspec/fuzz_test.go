package podspec_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/k8s/podspec"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// foreignNames returns objects of a cluster and of another task that no accepted spec may bring
// into a pod.
func foreignNames() []string {
	return []string{
		"determined-secrets-lab", "determined-master-lab", "determined-db-pvc-lab", "sh.helm.release.v1.lab.v1",
		"det-0a1b2c3d-0000-4000-8000-000000000000-1-1", "db-login",
	}
}

// namesIn returns the values of all fields that look like names of a Secret, an account or a claim,
// from the JSON for the API server. It is independent of the tested code.
func namesIn(t *testing.T, object any) []string {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	var out []string
	var walk func(v any, names bool)
	walk = func(v any, names bool) {
		switch v := v.(type) {
		case map[string]any:
			for key, e := range v {
				low := strings.ToLower(key)
				here := strings.Contains(low, "secret") || strings.Contains(low, "serviceaccount") || strings.Contains(low, "claim") ||
					strings.Contains(low, "datasource") || low == "volumeattributes" || low == "options"
				walk(e, here || names && low != "items" && low != "key")
			}
		case []any:
			for _, e := range v {
				walk(e, names)
			}
		case string:
			if names {
				out = append(out, v)
			}
		}
	}
	walk(tree, false)
	return out
}

// reachesNode returns the part of a pod that has access to its node, or "".
func reachesNode(p *corev1.PodSpec) string {
	for _, v := range p.Volumes {
		if v.HostPath != nil {
			return "hostPath " + v.HostPath.Path
		}
	}
	for _, c := range slices.Concat(p.InitContainers, p.Containers) {
		// Our init container may change owners; no user's container may have its name.
		if s := c.SecurityContext; s != nil && c.Name != "determined-init-container" && (s.Privileged != nil && *s.Privileged || s.Capabilities != nil && len(s.Capabilities.Add) > 0) {
			return "the rights of " + c.Name
		}
	}
	switch {
	case p.HostNetwork:
		return "hostNetwork"
	case p.HostPID:
		return "hostPID"
	case p.HostIPC:
		return "hostIPC"
	case p.NodeName != "":
		return "nodeName"
	}
	return ""
}

// An accepted spec names no object of the cluster or of another task, has no access to its node
// under a policy that permits none, has no labels of the cluster's own pods, and is accepted again
// when the pod is built.
func FuzzPodSpec(f *testing.F) {
	for _, s := range []string{
		"{}", volume(`"secret":{"secretName":"determined-secrets-lab"}`), volume(`"secret":{"secretName":"mine"}`), volume(`"hostPath":{"path":"/"}`),
		volume(`"projected":{"sources":[{"secret":{"name":"db-login"}},{"serviceAccountToken":{"path":"t"}}]}`),
		volume(`"csi":{"driver":"d","volumeAttributes":{"secretName":"determined-secrets-lab"},"nodePublishSecretRef":{"name":"x"}}`),
		volume(`"ephemeral":{"volumeClaimTemplate":{"spec":{"dataSource":{"kind":"PersistentVolumeClaim","name":"determined-db-pvc-lab"}}}}`),
		volume(`"persistentVolumeClaim":{"claimName":"determined-db-pvc-lab"}`), volume(`"emptyDir":{}`),
		sidecar(`"env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"det-0a1b2c3d-0000-4000-8000-000000000000-1-1","key":"k"}}}]`),
		sidecar(`"envFrom":[{"secretRef":{"name":"db-login"}},{"configMapRef":{"name":"x"}}],"securityContext":{"privileged":true}`),
		`{"spec":{"serviceAccountName":"determined-master-lab","hostNetwork":true,"imagePullSecrets":[{"name":"db-login"}]}}`,
		`{"spec":{"volumes":[{"$patch":"replace"},{"name":"x","hostPath":{"path":"/"}}],"$setElementOrder/volumes":[]}}`,
		`{"spec":{"$retainKeys":["volumes"],"containers":[{"name":"determined-container","$patch":"delete"}]}}`,
		`{"metadata":{"labels":{"app":"determined-master-lab","app.kubernetes.io/name":"x"},"annotations":{"det-deploy.dev/x":"y"}}}`,
		`{"spec":{"securityContext":{"runAsNonRoot":true,"sysctls":[{"name":"a","value":"b"}]},"nodeSelector":{"$patch":"replace"}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, pod []byte) {
		if len(pod) > 8<<10 {
			return
		}
		r := request(0, template())
		r.Template.PullSecrets, r.Template.Protected, r.PodSpec = []string{"regcred"}, []string{"db-login"}, pod
		r.Policy = &apiv1.TaskPolicy{Root: true}
		r.Specs[0].Policy = r.Policy
		verr := podspec.Validate(r.Request, r.Template)
		o, err := podspec.Build(r)
		if (verr == nil) != (err == nil) {
			t.Errorf("on submission: %v, when the pod is made: %v", verr, err)
		}
		if err != nil {
			if _, ours := errors.AsType[*podspec.Refusal](err); !ours {
				t.Errorf("got %v, want an error", err)
			}
			return
		}
		checkPod(t, o.Job)
	})
}

func checkPod(t *testing.T, job *batchv1.Job) {
	t.Helper()
	made := job.Spec.Template
	for _, name := range namesIn(t, made.Spec) {
		if slices.Contains(foreignNames(), name) {
			t.Errorf("a pod may use %s", name)
		}
	}
	if how := reachesNode(&made.Spec); how != "" {
		t.Errorf("a pod reaches its node: %s", how)
	}
	if strings.HasPrefix(made.Labels["app"], "determined-") || made.Labels["app.kubernetes.io/instance"] != "" || made.Labels["determined-system"] != "" {
		t.Errorf("a pod passes for one of the cluster's: %v", made.Labels)
	}
	if made.Spec.RestartPolicy != corev1.RestartPolicyNever || made.Spec.Containers[0].Name != podspec.MainContainer {
		t.Errorf("got restart policy %s of %s, want the task's container run once", made.Spec.RestartPolicy, made.Spec.Containers[0].Name)
	}
}
