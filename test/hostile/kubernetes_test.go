package hostile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/test/clustertest"
	"github.com/det-deploy/det-deploy/test/kubetest"
	"github.com/det-deploy/det-deploy/test/rest"
)

// TestKubernetes makes the attempts in tasks that are pods of a real node, in a cluster that was
// installed as by a user.
func TestKubernetes(t *testing.T) {
	rest.Only(t)
	failures := gather(t)
	c := kubetest.Start(t, kubetest.Options{Mode: kubetest.Node})
	const release = "hostile"
	archive, program := c.Master("v1.0.0")
	c.LoadImage(c.Task(), archive)
	c.Kubectl("create", "namespace", release)
	args := append([]string{"k8s", "install", "--yes", "--cluster-id", release, "-n", release}, kubetest.Values(
		"db.type=embedded", "useNodePortForMaster=true", "slotType=cpu", "slotResourceRequests.cpu=0.05", "initialUserPassword="+clustertest.Password,
	)...)
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "NO_COLOR=1", "KUBECONFIG=" + c.Kubeconfig}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	port := c.Kubectl("get", "-n", release, "service", "determined-master-service-"+release, "-o", "jsonpath={.spec.ports[0].nodePort}")
	w := newWorld(failures, kubernetes, "http://"+c.NodeIP+":"+port)
	w.login(t.Context(), "admin", "admin", clustertest.Password)
	w.user(t.Context(), "alice")
	w.user(t.Context(), "mallory")
	w.name("cluster", "/var/lib/determined")
	w.name("agent-pid", "1")
	w.settleTasks()
	for key, name := range map[string]string{
		"release": release, "namespace": release, "image": kubetest.TaskImage, "account": "determined-master-" + release,
		"secret": "determined-secrets-" + release, "config": "determined-master-config-" + release, "claim": "determined-master-data-" + release,
		"helm": "sh.helm.release.v1." + release + ".v1", "order": orderSecret(c),
	} {
		w.name(key, name)
	}
	w.name("shared", "shared")
	c.Kubectl("create", "secret", "generic", "shared", "-n", release+"-"+release+"-tasks", "--from-literal=password=open")
	w.makeAll(kubernetes)
}

// orderSecret returns the name of a Secret that was created for alice's task.
func orderSecret(c *kubetest.Cluster) string {
	for line := range strings.Lines(c.Kubectl("get", "secrets", "--all-namespaces", "-o", "jsonpath={range .items[*]}{.metadata.name}{\"\\n\"}{end}")) {
		if name := strings.TrimSpace(line); strings.HasPrefix(name, "det-") {
			return filepath.Base(name)
		}
	}
	return "det-order"
}
