package k8s_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/target/k8s"
	"github.com/det-deploy/det-deploy/installer/target/k8s/chart"
)

// narrow returns a stage whose user is the administrator of one namespace only, with the Pod Security
// level restricted and a resource quota.
func narrow(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.as = "owner"
	s.kubectl("create", "rolebinding", "owner", "--clusterrole=admin", "--user=owner", "-n", s.namespace)
	s.kubectl("label", "namespace", s.namespace, "pod-security.kubernetes.io/enforce=restricted")
	s.apply(`{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"narrow"},"spec":{"hard":
		{"requests.cpu":"4","requests.memory":"8Gi","limits.cpu":"4","limits.memory":"8Gi","pods":"10"}}}`)
	return s
}

// result returns doctor's result of the first check with a name prefix.
func (s *stage) result(r doctor.Report, name string) doctor.Result {
	s.t.Helper()
	for _, one := range r.Results {
		if strings.HasPrefix(one.Name, name) {
			return one
		}
	}
	s.t.Fatalf("got %+v, want a check %s", r, name)
	return doctor.Result{}
}

// check runs the checks, and again if the API server did not answer one in time.
func (s *stage) check() doctor.Report {
	s.t.Helper()
	for tries := 5; ; tries-- {
		r := s.installer(s.t.Context()).Check(s.t.Context())
		late := func(one doctor.Result) bool {
			return one.Answer == doctor.Unknown && strings.Contains(one.Found, "deadline exceeded")
		}
		if tries == 0 || !slices.ContainsFunc(r.Results, late) {
			return r
		}
	}
}

// Each missing permission of an administrator of one namespace is reported, with the values that
// make it unnecessary.
func TestNamespaceAdministratorIsToldWhatToOmit(t *testing.T) {
	t.Parallel()
	s := narrow(t)
	r := s.check()
	for _, tc := range []struct{ check, found, fix string }{
		{"permission to install", "all permissions granted in namespace " + s.namespace, "createNonNamespacedObjects=false,resourceManager.defaultNamespace="},
		{"permission to grant the master's roles", "nodes at the cluster scope", "rbac.nodes=false"},
		{"quota of namespace", "requires limits.memory of every container, and container init-secrets does not set it", "masterMemLimit"},
	} {
		if got := s.result(r, tc.check); got.Answer != doctor.Fail || !strings.Contains(got.Found, tc.found) || !strings.Contains(got.Fix, tc.fix) {
			t.Errorf("%s: got %+v, want it to fail with %q and %q", tc.check, got, tc.found, tc.fix)
		}
	}
	if got := s.result(r, "Pod Security of namespace "+s.namespace); got.Answer != doctor.Pass {
		t.Errorf("got %+v, want that restricted is no hindrance", got)
	}
}

// With those values they can install, upgrade and uninstall without further permissions.
func TestAnAdministratorOfOneNamespaceInstalls(t *testing.T) {
	t.Parallel()
	s := narrow(t)
	s.values = chart.Values{
		"imageRegistry": "registry.example", "maxSlotsPerPod": 4, "useNodePortForMaster": true, "createNonNamespacedObjects": false,
		"resourceManager": tree{"defaultNamespace": s.namespace},
		"masterCpuLimit":  "500m", "masterMemLimit": "1Gi", "db": tree{"cpuLimit": "500m", "memLimit": "1Gi"},
	}
	r := s.installer(t.Context()).Check(t.Context())
	if err := r.Err(); err != nil {
		t.Errorf("got %v from %+v", err, r)
	}
	for check, fix := range map[string]string{"Pod Security": "security.defaultTask.uid=", "quota for tasks": "taskContainerDefaults.cpuPodSpec"} {
		if got := s.result(r, check); got.Answer != doctor.Unknown || !strings.Contains(got.Fix, fix) {
			t.Errorf("%s: got %+v, want a remark with %s", check, got, fix)
		}
	}
	unseen, err := s.installer(t.Context()).Deployment.(*k8s.Target).Unseen(t.Context())
	must(t, err)
	if !slices.Contains(unseen, "clusterroles") || slices.Contains(unseen, "servicemonitors") || slices.Contains(unseen, "routes") {
		t.Errorf("got %v, want kinds that exist and may not be listed", unseen)
	}
	must(t, s.up(t.Context()))
	for _, name := range []string{"determined-master-deployment-lab", "determined-db-deployment-lab"} {
		s.kubectl("-n", s.namespace, "rollout", "status", "deployment/"+name, "--timeout=60s")
	}
	s.version = "1.1.0"
	_, err = s.upgrade(t.Context())
	must(t, err)
	_, err = s.down(t.Context(), true)
	must(t, err)
	s.wantNothing()
}
