package kube_test

import (
	"strings"
	"testing"
)

func TestClusterWithoutANode(t *testing.T) {
	c := start(t, "121", "--mode", "api", "--fake-nodes", "3", "--fake-gpus", "8")
	c.apply("testdata/api.yaml")
	c.check(
		check{"a deployment with GPUs runs on fake nodes", "3", get("deploy web", ".status.readyReplicas")},
		check{"a claim is bound", "Bound", get("pvc data", ".status.phase")},
		check{"a pod with a claim runs", "1", get("deploy db", ".status.readyReplicas")},
		check{"a Service has endpoints", "198.18.", get("endpointslices -l kubernetes.io/service-name=web", ".items[0].endpoints[0].addresses[0]")},
		check{"a Job completes", "1", get("job job", ".status.succeeded")},
		check{"logs say that the pod is fake", "this pod is fake", []string{"logs", "deploy/web"}},
		check{"nothing is sent to fake addresses", "403 Forbidden", []string{"get", "--raw", "/api/v1/namespaces/default/services/web/proxy/"}},
	)
	c.must("kubectl", "scale", "deploy", "web", "--replicas=4")
	c.check(check{"a fourth pod with 8 GPUs does not fit", "Insufficient nvidia.com/gpu", get("events --field-selector reason=FailedScheduling", ".items[*].message")})
	c.must("add-nodes", "1")
	c.check(check{"until there is a fourth node", "4", get("deploy web", ".status.readyReplicas")})
	before := c.must("status")
	c.must("up", "--mode", "api")
	if got, want := firstLine(c.must("status")), firstLine(before); got != want {
		t.Errorf("after up again: got %q, want %q", got, want)
	}
}

// firstLine returns the line with the start time and the address of the cluster.
func firstLine(status string) string {
	line, _, _ := strings.Cut(status, "\n")
	return line
}
