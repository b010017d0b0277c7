package k8s_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/rest"
)

// A cluster from installation to removal, with tasks and an upgrade while a task is running.
func TestTheLifeOfACluster(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	p := newPerson(t)
	one, two := p.build("v1.0.0"), p.build("v1.1.0")
	made := p.does(one, "DET_MASTER=http://", append([]string{"k8s", "install", "--yes", "--cluster-id", "lab"}, values()...)...)
	away := p.timesAbsence(made)
	p.does(two, "v1.1.0", "k8s", "upgrade", "--yes", "--cluster-id", "lab")
	t.Logf("upgrade of an empty store: no master answered for %s (promise 15 s, otherwise idle)", away())
	p.does(two, "", "k8s", "uninstall", "--yes", "--delete-data", "--cluster-id", "lab")

	p.does(one, "DET_MASTER=http://", append([]string{"k8s", "install", "--yes", "--cluster-id", "lab"}, values()...)...)
	p.does(one, "v1.0.0", "k8s", "status", "--cluster-id", "lab")
	p.does(one, "nothing to do", "k8s", "plan", "--cluster-id", "lab")
	p.runsTasks(one)
	p.losesItsMaster(one)
	p.drains(one)

	long := p.starts(one, "--slots", "0", "--", "sh", "-c", "for i in $(seq 40); do echo line $i; sleep 1; done; echo outlived")
	p.does(two, "", "k8s", "upgrade", "--yes", "--cluster-id", "lab")
	p.does(two, "v1.1.0", "k8s", "status", "--cluster-id", "lab")
	p.ends(two, long, 2*time.Minute)
	p.does(two, "outlived", "task", "logs", long)
	p.pauses(two, one)

	p.settles("lab")
	p.does(two, "", "k8s", "uninstall", "--yes", "--cluster-id", "lab")
	p.nothing("lab", "pods,jobs,deployments,services")
	install := append([]string{"k8s", "install", "--yes", "--cluster-id", "lab"}, values()...)
	if out, err := p.types(two, install...); err == nil || !strings.Contains(out, "v1.0.0 was the last") {
		t.Errorf("install by another version than the data's: got %v, want an error with the version", err)
	}
	p.does(one, "", install...)
	p.does(one, "outlived", "task", "logs", long)
	p.does(two, "", "k8s", "uninstall", "--yes", "--delete-data", "--cluster-id", "lab")
	p.nothing("lab", "pods,jobs,deployments,services,secrets,configmaps,persistentvolumeclaims,serviceaccounts,roles,rolebindings,networkpolicies")
	p.nothing("lab", "clusterroles,clusterrolebindings,priorityclasses,namespaces")
}

// runsTasks checks the environment of tasks and that they leave nothing.
func (p *person) runsTasks(program string) {
	p.t.Helper()
	p.does(program, "hello from a pod", "task", "run", "--slots", "0", "--", "echo", "hello from a pod")
	if _, err := p.types(program, "task", "run", "--slots", "0", "--", "sh", "-c", "exit 7"); err == nil {
		p.t.Error("a task that ends with 7 is a success")
	}
	p.does(program, "both in one pod", "task", "run", "--slots", "2", "--", "echo", "both in one pod")
	if out, err := p.types(program, "task", "run", "--slots", "4", "--", "true"); err == nil || !strings.Contains(out, "request unfulfillable") {
		p.t.Errorf("a command of 4 slots, where a pod has 2: got %q, %v, want an error", out, err)
	}
	id := p.starts(program, "--slots", "0", "--", "sh", "-c", "echo started; sleep 600")
	p.eventually("kubectl exec into a task", time.Minute, func() error {
		name, err := p.c.Try("get", "pods", "-n", "default-lab-tasks", "-l", "determined", "-o", "name", "--field-selector=status.phase=Running")
		if err != nil || strings.TrimSpace(name) == "" {
			return fmt.Errorf("there is no task's pod (%w)", err)
		}
		out, err := p.c.Try("exec", "-n", "default-lab-tasks", strings.TrimSpace(name), "-c", "determined-container", "--", "sh", "-c", "echo inside of $DET_TASK_ID")
		if err == nil && !strings.Contains(out, "inside of "+id) {
			err = fmt.Errorf("got %q", out)
		}
		return err
	})
	p.does(program, "", "task", "kill", id)
	p.ends(program, id, time.Minute)
}

// losesItsMaster kills the master's pod while tasks run.
func (p *person) losesItsMaster(program string) {
	p.t.Helper()
	const tasks = 20
	var ids []string
	for i := range tasks {
		ids = append(ids, p.starts(program, "--slots", "0", "--", "sh", "-c", fmt.Sprintf("echo begin %d; sleep 15; echo end %d", i, i)))
	}
	p.c.Kubectl("delete", "pod", "-l", "determined-system=master", "--grace-period=0", "--force")
	for i, id := range ids {
		p.ends(program, id, 2*time.Minute)
		out, err := p.types(program, "task", "logs", id)
		if err != nil || strings.Count(out, "begin") != 1 || strings.Count(out, fmt.Sprintf("end %d", i)) != 1 {
			p.t.Errorf("task %d: got %q (%v), want its two lines, each once", i, out, err)
		}
	}
	p.settles("lab")
}

// drains drains the node with the master and a task on it, and uncordons it.
func (p *person) drains(program string) {
	p.t.Helper()
	id := p.starts(program, "--slots", "0", "--", "sh", "-c", "echo started; sleep 600")
	p.eventually("the task runs", time.Minute, func() error {
		all, err := p.tasks(program)
		if err == nil && !strings.Contains(all[id], "running") {
			err = fmt.Errorf("it is %s", all[id])
		}
		return err
	})
	p.c.Kubectl("drain", "node1", "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=120s")
	p.c.Kubectl("uncordon", "node1")
	p.eventually("the task has ended with its node", 2*time.Minute, func() error {
		all, err := p.tasks(program)
		if err == nil && strings.Contains(all[id], "running") {
			err = fmt.Errorf("it is %s", all[id])
		}
		return err
	})
	p.does(program, "back again", "task", "run", "--slots", "2", "--", "echo", "back again")
}

// pauses upgrades the cluster from one program to another with --pause-tasks: a non-preemptible task
// prevents the upgrade, and a preemptible one runs again after it.
func (p *person) pauses(from, to string) {
	p.t.Helper()
	running := func(id string) {
		p.eventually("task "+id+" runs", time.Minute, func() error {
			all, err := p.tasks(from)
			if err == nil && !strings.Contains(all[id], "running") {
				err = fmt.Errorf("it is %s", all[id])
			}
			return err
		})
	}
	config := filepath.Join(p.home, "preemptible.yaml")
	if err := os.WriteFile(config, []byte("resources: {preemptible: true}\n"), 0o600); err != nil {
		p.t.Fatal(err)
	}
	id := p.starts(from, "--slots", "0", "--config", config, "--", "sh", "-c", "echo begin; sleep 30; echo end")
	stay := p.starts(from, "--slots", "0", "--", "sh", "-c", "sleep 600")
	running(id)
	running(stay)
	upgrade := []string{"k8s", "upgrade", "--yes", "--cluster-id", "lab", "--pause-tasks", "--pause-limit", "5s"}
	if out, err := p.types(to, upgrade...); err == nil || !strings.Contains(out, "not preemptible") || !strings.Contains(out, stay) || strings.Contains(out, id) {
		p.t.Errorf("with a task that cannot be run again: got %v", err)
	}
	running(stay)
	p.does(from, "", "task", "kill", stay)
	p.ends(from, stay, time.Minute)
	id = p.starts(from, "--slots", "0", "--config", config, "--", "sh", "-c", "echo begin; sleep 30; echo end")
	running(id)
	p.does(to, "Enabled nodes", upgrade...)
	p.ends(to, id, 2*time.Minute)
	out := p.does(to, "run again from its start", "task", "logs", id)
	if strings.Count(out, "begin") != 2 || strings.Count(out, "end") != 1 {
		p.t.Errorf("got %q, want that it was begun twice and came to its end", out)
	}
}

// ends waits until a task has ended.
func (p *person) ends(program, id string, limit time.Duration) {
	p.t.Helper()
	p.eventually("task "+id, limit, func() error {
		all, err := p.tasks(program)
		if err == nil && !slices.Contains([]string{"terminated", "succeeded", "failed", "killed", "preempted", "lost"}, all[id]) {
			err = fmt.Errorf("it is %q", all[id])
		}
		return err
	})
}
