package pods_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/k8s/pods"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/test/kubetest"
	"github.com/det-deploy/det-deploy/test/rest"
)

// onNode runs a resource manager with a real kubelet. The name of a task is its script.
func onNode(t *testing.T) *master {
	return onNodeWith(t, func(*pods.Config) {})
}

func onNodeWith(t *testing.T, edit func(*pods.Config)) *master {
	t.Helper()
	c := kubetest.Start(t, kubetest.Options{Mode: kubetest.Node})
	image, _ := c.Master("pods")
	c.LoadImage(c.Task(), image)
	m := &master{
		t: t, c: c, namespace: c.Namespace("tasks"), owner: newOwner(t), memory: &memory{docs: make(map[string][]byte)}, client: fast(t, c),
		edit: func(c *pods.Config) {
			c.Limits = pods.DefaultLimits()
			c.Pools[0].Template.Image = "det-deploy:pods"
			edit(c)
		},
	}
	m.owner.program = func(q rm.Request) *agentv1.Spec {
		return &agentv1.Spec{Image: kubetest.TaskImage, Entrypoint: []string{"/bin/sh", "-c", q.Name}, TaskType: "COMMAND"}
	}
	m.start()
	t.Cleanup(func() { m.stop() })
	return m
}

// does submits a script with a pod spec.
func (m *master) does(script, podSpec string) rm.AllocationID {
	return m.submit(program{}, func(q *rm.Request) { q.Name, q.PodSpec = script, []byte(podSpec) })
}

// text returns all stored lines of a task's log.
func (m *master) text(id rm.AllocationID) []string {
	m.owner.mu.Lock()
	defer m.owner.mu.Unlock()
	return m.owner.lines[string(m.owner.tasks[id].assigned[0].ID)]
}

// lines returns all stored lines of one container's log.
func (m *master) lines(id rm.ContainerID) []string {
	m.owner.mu.Lock()
	defer m.owner.mu.Unlock()
	return m.owner.lines[string(id)]
}

func TestTasksOnARealNode(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	m := onNode(t)
	stuck := m.does("true", `{"spec": {"volumes": [{"name": "v", "secret": {"secretName": "nope"}}], "containers": [{"name": "determined-container", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]}}`)
	unprepared := m.does("true", `{"spec": {"initContainers": [{"name": "fetch", "image": "`+kubetest.TaskImage+`", "imagePullPolicy": "IfNotPresent", "command": ["/bin/sh", "-c", "echo no such data; exit 2"]}]}}`)
	stubborn := m.does("trap 'echo asked' TERM; echo up; while true; do sleep 0.1; done", `{"spec": {"terminationGracePeriodSeconds": 3}}`)

	deaf := m.does("trap 'echo asked' TERM; echo up; while true; do sleep 0.1; done", `{"spec": {"terminationGracePeriodSeconds": 3}}`)

	long := m.does(`i=0; while [ $i -lt 500 ]; do echo "line $i"; i=$((i+1)); done; head -c 200000 /dev/zero | tr '\0' x; exit 3`, "")
	w := m.await(long, "it has ended", over)
	if code := w.exits[w.assigned[0].ID].GetCode(); code != 3 || w.end.Cause != rm.CauseExited {
		t.Errorf("got code %d and %+v, want 3", code, w.end)
	}
	if got := m.text(long); len(got) != 504 || got[499] != "line 499" || strings.Count(strings.Join(got[500:], ""), "x") != 200_000 {
		t.Errorf("got %d lines and %d bytes behind them, want 500, and 200000 in four pieces", len(got), len(strings.Join(got[min(500, len(got)):], "")))
	}

	w = m.await(unprepared, "it has ended", over)
	if e := w.exits[w.assigned[0].ID]; e.GetKind() != agentv1.Exit_KIND_NOT_STARTED || !strings.Contains(e.GetMessage(), "fetch ended with code 2") || w.end.Cause != rm.CauseExited {
		t.Errorf("got %v and %+v, want that its init container failed", e, w.end)
	}
	if got := strings.Join(m.text(unprepared), "\n"); got != "no such data" {
		t.Errorf("got log %q, want the init container's words", got)
	}

	m.await(stubborn, "it runs", runs(1))
	m.c.Await("it listens", func() error { return says("up", m.text(stubborn)) })
	began := time.Now()
	if err := m.rm.Kill(t.Context(), stubborn, "killed by ann"); err != nil {
		t.Fatal(err)
	}
	w = m.await(stubborn, "it has ended", over)
	if took := time.Since(began); took < 2*time.Second || took > 12*time.Second {
		t.Errorf("got an end after %s, want it after the 3 s of its pod spec", took)
	}
	if err := says("asked", m.text(stubborn)); err != nil {
		t.Error(err)
	}

	m.await(deaf, "it runs", runs(1))
	m.c.Await("it listens", func() error { return says("up", m.text(deaf)) })
	began = time.Now()
	if err := m.rm.Preempt(t.Context(), deaf, "preempted by ann"); err != nil {
		t.Fatal(err)
	}
	m.await(deaf, "it has ended", over)
	if took := time.Since(began); took > 12*time.Second {
		t.Errorf("got an end after %s, want it after the 3 s of its pod spec, because it does not listen", took)
	}

	w = m.await(stuck, "what keeps it is said", func(w owned) bool {
		return strings.Contains(strings.Join(w.waits, "\n"), `does not start: FailedMount: MountVolume.SetUp failed for volume "v"`)
	})
	t.Log(w.waits)
	if err := m.rm.Kill(t.Context(), stuck, "killed by ann"); err != nil {
		t.Fatal(err)
	}
	m.await(stuck, "it has ended", over)
	m.awaitNothing()
	m.awaitForgotten()
}

func says(want string, lines []string) error {
	if got := strings.Join(lines, "\n"); !strings.Contains(got, want) {
		return fmt.Errorf("got %q, want %q in it", got, want)
	}
	return nil
}
