package k8s_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/kubetest"
)

// person is somebody at a terminal with a kubeconfig.
type person struct {
	t    *testing.T
	c    *kubetest.Cluster
	home string
}

// newPerson starts a cluster with one node.
func newPerson(t *testing.T) *person {
	t.Helper()
	c := kubetest.Start(t, kubetest.Options{Mode: kubetest.Node})
	c.LoadImage(c.Task(), c.Postgres())
	return &person{t: t, c: c, home: t.TempDir()}
}

// build makes an image, loads it, and returns the program in it.
func (p *person) build(version string) string {
	p.t.Helper()
	archive, program := p.c.Master(version)
	p.c.LoadImage(archive)
	return program
}

// values are those of a small cluster whose images the node has.
func values(more ...string) []string {
	args := []string{"--set", "imageRegistry=", "--set", "slotResourceRequests.cpu=0.05"}
	for _, v := range append([]string{
		"maxSlotsPerPod=2", "slotType=cpu", "useNodePortForMaster=true", "defaultImages.postgreSQL=" + kubetest.PostgresImage,
		"defaultImages.cpuImage=" + kubetest.TaskImage, "defaultImages.gpuImage=" + kubetest.TaskImage,
		"masterCpuRequest=50m", "db.cpuRequest=50m", "masterMemRequest=64Mi", "db.memRequest=64Mi", "db.storageSize=1Gi",
	}, more...) {
		args = append(args, "--set", v)
	}
	return args
}

// types types a command and returns what it says.
func (p *person) types(program string, args ...string) (string, error) {
	cmd := exec.CommandContext(p.t.Context(), program, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "NO_COLOR=1", "KUBECONFIG=" + p.c.Kubeconfig}
	start := time.Now()
	out, err := cmd.CombinedOutput()
	p.t.Logf("%s (%s)\n%s", strings.Join(args, " "), time.Since(start).Round(100*time.Millisecond), out)
	if err != nil {
		return string(out), fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}

func (p *person) does(program, want string, args ...string) string {
	p.t.Helper()
	out, err := p.types(program, args...)
	if err != nil || !strings.Contains(out, want) {
		p.t.Fatalf("got %v, want %q in the answer", err, want)
	}
	return out
}

// starts runs a task in the background and returns its ID.
func (p *person) starts(program string, args ...string) string {
	p.t.Helper()
	words := strings.Fields(p.does(program, "", append([]string{"task", "run", "--detach"}, args...)...))
	return words[len(words)-1] // the rest is told beside the answer
}

// task is one of `task list`; TERMINATED is whatever has ended.
type task struct {
	ID    string `json:"id"`
	State string `json:"state"`
}

// tasks are all tasks by ID.
func (p *person) tasks(program string) (map[string]string, error) {
	cmd := exec.CommandContext(p.t.Context(), program, "task", "list", "--all", "--output", "json")
	cmd.Env = []string{"HOME=" + p.home}
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var answer struct {
		Commands []task `json:"commands"`
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return nil, err
	}
	all := make(map[string]string)
	for _, t := range answer.Commands {
		all[t.ID] = t.State
	}
	if len(all) == 0 {
		return nil, errors.New("there are none: " + string(out[:min(len(out), 300)]))
	}
	return all, nil
}

// eventually tries until there is no error.
func (p *person) eventually(what string, limit time.Duration, try func() error) {
	p.t.Helper()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(limit); ; <-tick.C {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("%s: %v", what, err)
		}
	}
}

// nothing fails when objects of a cluster are left.
func (p *person) nothing(kinds string) {
	p.t.Helper()
	p.eventually("nothing is left of the cluster", time.Minute, func() error {
		out, err := p.c.Try("get", kinds, "--all-namespaces", "-l", "det-deploy.dev/cluster=lab", "-o", "name")
		if err == nil && strings.TrimSpace(out) != "" {
			err = fmt.Errorf("there is %s", out)
		}
		return err
	})
}
