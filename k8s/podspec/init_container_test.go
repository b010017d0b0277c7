package podspec_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/k8s/podspec"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// A pod spec changes the resources, the security context and the mounts of the cluster's init container.
func TestInitContainerIsMerged(t *testing.T) {
	t.Parallel()
	r := request(0, template())
	r.PodSpec = []byte(`{"spec":{"volumes":[{"name":"scratch","emptyDir":{}}],
		"containers":[{"name":"determined-container","resources":{"requests":{"cpu":"2","memory":"64Gi"}}}],
		"initContainers":[{"name":"first","image":"first:1"},{"name":"determined-init-container","resources":{"limits":{"memory":"256Mi"}},
			"securityContext":{"readOnlyRootFilesystem":false,"seLinuxOptions":{"level":"s0:c1"}},"volumeMounts":[{"name":"scratch","mountPath":"/tmp"}]}]}}`)
	if err := podspec.Validate(r.Request, r.Template); err != nil {
		t.Fatal(err)
	}
	o, err := podspec.Build(r)
	if err != nil {
		t.Fatal(err)
	}
	s := o.Job.Spec.Template.Spec
	if len(s.InitContainers) != 2 || s.InitContainers[0].Name != podspec.InitContainer || s.InitContainers[1].Name != "first" {
		t.Fatalf("got init containers %v, want the cluster's first, and the other one", s.InitContainers)
	}
	c := s.InitContainers[0]
	if c.Image != r.Template.Image || len(c.Args) == 0 {
		t.Errorf("got image %q and arguments %q, want the cluster's own", c.Image, c.Args)
	}
	if _, set := c.Resources.Requests[corev1.ResourceMemory]; set || c.Resources.Limits.Memory().String() != "256Mi" || c.Resources.Requests.Cpu().String() != "2" {
		t.Errorf("got resources %v, want the memory of the pod spec and the CPUs of the task's container", c.Resources)
	}
	sc := c.SecurityContext
	if *sc.ReadOnlyRootFilesystem || sc.SELinuxOptions == nil || *sc.RunAsUser != 0 || sc.SeccompProfile == nil {
		t.Errorf("got security context %v, want both merged", sc)
	}
	var mounts []string
	for _, m := range c.VolumeMounts {
		mounts = append(mounts, m.MountPath)
	}
	slices.Sort(mounts)
	if want := []string{"/run/determined-files", "/run/determined-order", "/tmp"}; !slices.Equal(mounts, want) {
		t.Errorf("got mounts %q, want %q", mounts, want)
	}
}

// The policy of tasks applies to what a pod spec adds to the cluster's init container.
func TestPolicyAppliesToInitContainer(t *testing.T) {
	t.Parallel()
	r := request(0, template())
	r.Policy = &apiv1.TaskPolicy{}
	r.PodSpec = []byte(`{"spec":{"initContainers":[{"name":"determined-init-container","securityContext":{"privileged":true}}]}}`)
	refused(t, podspec.Validate(r.Request, r.Template), "spec.initContainers[determined-init-container].securityContext.privileged")
	r.PodSpec = []byte(`{"spec":{"initContainers":[{"name":"determined-init-container","resources":{"limits":{"cpu":"1"}}}]}}`)
	if err := podspec.Validate(r.Request, r.Template); err != nil {
		t.Errorf("got %v, want it allowed", err)
	}
}
