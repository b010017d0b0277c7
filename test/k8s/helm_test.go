package k8s_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/test/dettest"
)

// plainHelm installs the exported chart with Helm and kubectl only, and runs tasks with the
// unmodified upstream client.
func (p *person) plainHelm(program string) {
	p.t.Helper()
	const cluster, password = "plain", "Lovelace-1815"
	det, helm := p.det(), p.helm()
	chart := filepath.Join(p.home, "determined-helm-chart")
	p.does(program, "", "k8s", "template", "--export", chart)
	p.c.Kubectl("create", "namespace", cluster)
	set := images("db.type=embedded", "slotType=cpu", "useNodePortForMaster=true", "initialUserPassword="+password)
	set = append(set, "--set-string", "slotResourceRequests.cpu=0.05", "-n", cluster)
	out := p.does(helm, "DET_MASTER", append([]string{"install", cluster, chart}, set...)...)
	if strings.Contains(out, password) {
		p.t.Error("the notes tell the password")
	}
	p.c.Kubectl("wait", "-n", cluster, "--for=condition=Available", "--timeout=120s", "deployment/determined-master-deployment-"+cluster)
	port := p.c.Kubectl("get", "-n", cluster, "service", "determined-master-service-"+cluster, "-o", "jsonpath={.spec.ports[0].nodePort}")
	p.env = []string{"DET_MASTER=http://" + p.c.NodeIP + ":" + port, "DET_USER=admin", "DET_PASS=" + password}

	p.does(det, "hello from a pod", "command", "run", "--config", "resources.slots=0", "echo", "hello from a pod")
	p.does(det, "exit code 3", "command", "run", "--config", "resources.slots=2", "sh -c 'exit 3'")
	p.does(det, "node1", "agent", "list")
	p.does(det, "node1", "slot", "list")
	launched := strings.Fields(p.does(det, "", "command", "run", "--detach", "--config", "resources.slots=2", "sleep 600"))
	id := strings.Trim(launched[len(launched)-1], "()")
	p.eventually("kubectl sees the pod of a task by their label", time.Minute, func() error {
		names, err := p.c.Try("get", "pods", "-n", cluster+"-"+cluster+"-tasks", "-l=determined", "-o", "name")
		if err == nil && strings.Count(names, "pod/") != 1 {
			err = fmt.Errorf("there are %q", names)
		}
		return err
	})
	p.does(det, "", "command", "kill", id)

	// A changed value of the master's configuration replaces its pod.
	before := p.c.Kubectl("get", "pods", "-n", cluster, "-l", "determined-system=master", "-o", "name")
	p.does(helm, "", append([]string{"upgrade", cluster, chart, "--set", "logLevel=debug"}, set...)...)
	p.eventually("the master is another pod", time.Minute, func() error {
		after, err := p.c.Try("get", "pods", "-n", cluster, "-l", "determined-system=master", "-o", "name", "--field-selector=status.phase=Running")
		if err == nil && (after == "" || strings.TrimSpace(after) == strings.TrimSpace(before)) {
			err = errors.New("it is not")
		}
		return err
	})
	p.does(program, cluster, "k8s", "list", "-n", cluster)
	p.does(helm, "uninstalled", "uninstall", cluster, "-n", cluster, "--wait")
	p.c.Kubectl("get", "-n", cluster, "persistentvolumeclaim", "determined-master-data-"+cluster)
	p.c.Kubectl("get", "namespace", cluster+"-"+cluster+"-tasks")
}

// helm builds the Helm command of go.mod with the flags of the program, so that most of it is in
// the build cache.
func (p *person) helm() string {
	p.t.Helper()
	helm := filepath.Join(p.t.TempDir(), "helm")
	cmd := exec.CommandContext(p.t.Context(), "go", "build", "-trimpath", "-o", helm, "helm.sh/helm/v3/cmd/helm")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("build helm: %v\n%s", err, out)
	}
	return helm
}

// det returns the path of the unmodified client, which test/setup installed.
func (p *person) det() string {
	p.t.Helper()
	return filepath.Join(dettest.Home(p.t), "bin", "det")
}
