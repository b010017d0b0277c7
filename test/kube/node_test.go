package kube_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestClusterWithANode(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a real node needs root")
	}
	c := start(t, "122", "--mode", "node", "--gpus", "4", "--fake-nodes", "1")
	c.must("load-image", c.bin+"/testapp.tar")
	c.apply("testdata/node.yaml")
	c.check(
		check{"pods become ready", "2", get("deploy web", ".status.readyReplicas")},
		check{"logs", "serving", []string{"logs", "deploy/web"}},
		check{"exec", "hello", inPod("get", "http://web/")},
		check{"the name of a Service", "198.19.", inPod("lookup", "web.default.svc.cluster.local")},
		check{"the name of the machine", "198.18.", inPod("lookup", "host.kubelab")},
		check{"names outside do not exist", "no such host", inPod("lookup", "example.com")},
		check{"addresses outside are unreachable", "unreachable", inPod("get", "http://192.0.2.1/")},
		check{"the API with the pod's own token", "403", inPod("api", "/api/v1/nodes")},
		check{"a Job that calls a Service", "1", get("job job", ".status.succeeded")},
		check{"a volume, written by another user than root", "written", inPod("write", "/data/x")},
		check{"and the same in the next pod", "/data/x", inPod("list", "/data")},
		check{"GPUs are handed out", "GPU-fake-", []string{"logs", "gpu2"}},
		check{"more GPUs than there are do not fit", "Insufficient nvidia.com/gpu", get("events --field-selector involvedObject.name=toomany", ".items[*].message")},
		check{"a memory limit", "OOMKilled", get("pod oom", ".status.containerStatuses[0].state.terminated.reason")},
		check{"an image that is not there", "Pull", get("pod nopull", ".status.containerStatuses[0].state.waiting.reason")},
		check{"a fake node beside the real one", "Running", get("pod fake", ".status.phase")},
	)
	t.Run("from this machine", func(t *testing.T) { fromOutside(t, c) })
	t.Run("to this machine", func(t *testing.T) { toOutside(t, c) })
	c.must("kubectl", "create", "service", "clusterip", "empty", "--tcp=80")
	c.check(check{"a Service without pods refuses", "connection refused", inPod("get", "http://empty/")})
	c.must("kubectl", "delete", "deploy", "web", "--timeout=60s")
	c.must("kubectl", "delete", "pvc", "data", "--timeout=60s")
	c.check(check{"a claim takes its volume along", "No resources", []string{"get", "pv"}})
}

func fromOutside(t *testing.T, c *cluster) {
	service := c.must(append([]string{"kubectl"}, get("svc web", ".spec.clusterIP")...)...)
	c.program(t, "hello", "get", "http://"+service+"/")
	node := c.must(append([]string{"kubectl"}, get("node node1", `.status.addresses[?(@.type=="InternalIP")].address`)...)...)
	c.program(t, "hello", "get", "http://"+node+":30080/")
}

// toOutside checks that a pod can call a server on this machine.
func toOutside(t *testing.T, c *cluster) {
	host := strings.TrimSpace(c.must(append([]string{"kubectl"}, inPod("lookup", "host.kubelab")...)...))
	server := exec.CommandContext(t.Context(), c.bin+"/testapp", "serve", host+":0")
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(strings.TrimSpace(line), host+":")
	c.eventually(t, check{want: "hello", args: inPod("get", "http://host.kubelab:"+port+"/")})
	if err := server.Process.Kill(); err != nil {
		t.Error(err)
	}
	server.Wait() //nolint:errcheck // it was killed
}
