package podspec_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/k8s/podspec"
)

// A gang's pods have names in a Service that selects only them.
func TestTheServiceOfAGangFindsItsPods(t *testing.T) {
	t.Parallel()
	o, err := podspec.Build(request(16, template()))
	if err != nil {
		t.Fatal(err)
	}
	pod, s := o.Job.Spec.Template.Spec, podspec.ServiceOf(o.Job)
	if s.Name != o.Job.Name || s.Namespace != o.Job.Namespace || pod.Subdomain != s.Name {
		t.Errorf("got Service %s/%s for Job %s/%s with subdomain %q, want one name", s.Namespace, s.Name, o.Job.Namespace, o.Job.Name, pod.Subdomain)
	}
	if s.Spec.ClusterIP != corev1.ClusterIPNone || !s.Spec.PublishNotReadyAddresses || len(s.Spec.Ports) > 0 {
		t.Errorf("got %+v, want a headless one that waits for no probe", s.Spec)
	}
	// The Job controller sets this label on its pods.
	if diff := cmp.Diff(s.Spec.Selector, map[string]string{"batch.kubernetes.io/job-name": o.Job.Name}); diff != "" {
		t.Errorf("got -, want +:\n%s", diff)
	}
	host := o.Job.Name + "-1." + s.Name + "." + s.Namespace + ".svc"
	addrs := strings.Split(string(o.Secrets[0].Data["env.DET_CONTAINER_ADDRS"]), ",")
	if len(addrs) != 2 || addrs[1] != host {
		t.Errorf("got addresses %q, want two, and %s for rank 1", addrs, host)
	}
	for _, e := range pod.Containers[0].Env {
		if strings.Contains(e.Value, host) {
			t.Errorf("variable %s of every pod has all addresses: %s", e.Name, e.Value)
		}
	}
}

func TestSinglePodHasNoPeers(t *testing.T) {
	t.Parallel()
	o, err := podspec.Build(request(1, template()))
	if err != nil {
		t.Fatal(err)
	}
	if podspec.ServiceOf(o.Job) != nil || o.Job.Spec.Template.Spec.Subdomain != "" || o.Secrets[0].Data["env.DET_CONTAINER_ADDRS"] != nil {
		t.Errorf("got %v and subdomain %q, want neither", podspec.ServiceOf(o.Job), o.Job.Spec.Template.Spec.Subdomain)
	}
}

func TestTheSubdomainOfAGangIsItsOwn(t *testing.T) {
	t.Parallel()
	for slots, refused := range map[int]bool{8: false, 16: true} {
		r := request(slots, template())
		r.PodSpec = []byte(`{"spec":{"subdomain":"mine"}}`)
		var why *podspec.Refusal
		err := podspec.Validate(r.Request, r.Template)
		if errors.As(err, &why) != refused {
			t.Errorf("%d slots: got %v, want it refused: %t", slots, err, refused)
		}
		if refused && !strings.Contains(err.Error(), "spec.subdomain: must not be set for a task of several pods") {
			t.Errorf("got %v, want the field named", err)
		}
	}
}
