package task_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

const sleeper = "entrypoint: sleep 9\nresources:\n  slots: 2\n"

func (m *master) create(by *apiv1.User, req *apiv1.CreateGenericTaskRequest) (string, error) {
	out, err := m.tasks.CreateGeneric(m.t.Context(), by, 1, req, nil)
	return out.GetTaskId(), err
}

// generic creates a task of ann.
func (m *master) generic(req *apiv1.CreateGenericTaskRequest) string {
	m.t.Helper()
	if req.GetConfig() == "" && req.ForkedFrom == nil {
		req.Config = sleeper
	}
	id, err := m.create(ann(), req)
	if err != nil {
		m.t.Fatal(err)
	}
	return id
}

func (m *master) childOf(parent string) string {
	m.t.Helper()
	return m.generic(&apiv1.CreateGenericTaskRequest{ParentId: &parent})
}

func (m *master) shown(id string) *apiv1.Task {
	m.t.Helper()
	out, err := m.tasks.Task(m.t.Context(), id)
	if err != nil {
		m.t.Fatal(err)
	}
	return out.GetTask()
}

// wantStates compares the states of tasks, without their prefix.
func (m *master) wantStates(when string, want map[string]string) {
	m.t.Helper()
	for id, state := range want {
		if got := strings.TrimPrefix(m.shown(id).GetTaskState().String(), "GENERIC_TASK_STATE_"); got != state {
			m.t.Errorf("%s: task %s is %s, want %s", when, id, got, state)
		}
	}
}

func (m *master) pause(id string) {
	m.must(func() error { return m.tasks.PauseGeneric(m.t.Context(), ann(), id) })
}

func (m *master) unpause(id string) {
	m.must(func() error { return m.tasks.UnpauseGeneric(m.t.Context(), ann(), id) })
}

// stopPreempted simulates the end of an allocation that was asked to stop.
func (m *master) stopPreempted(id rm.AllocationID) {
	m.t.Helper()
	reason := m.machine.preempted(id)
	if reason == "" {
		m.t.Fatalf("allocation %s was not asked to stop", id)
	}
	m.must(func() error {
		_, err := m.tasks.Preempted(m.t.Context(), id, reason, time.Now().Add(time.Hour))
		return err
	})
	m.changed(id, 0, terminated, exit(143))
	m.ended(id, rm.CausePreempted, reason)
	m.machine.withdraw(id)
}

func TestPauseOfAGenericTask(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	id := m.generic(&apiv1.CreateGenericTaskRequest{})
	if r := m.machine.request(first(id)); r.SingleNode || r.JobType != apiv1.Job_TYPE_GENERIC || len(r.Ports) == 0 || r.Slots != 2 {
		t.Errorf("got %+v, want a request that may be placed on several machines", r)
	}
	m.assign(first(id), 1)
	m.changed(first(id), 0, running, nil)
	m.wantStates("running", map[string]string{id: "ACTIVE"})

	m.pause(id)
	m.wantStates("asked to stop", map[string]string{id: "STOPPING_PAUSED"})
	m.stopPreempted(first(id))
	m.wantStates("stopped", map[string]string{id: "PAUSED"})
	if m.machine.has(rm.AllocationID(id + ".2")) {
		t.Error("a paused task is queued again")
	}
	if s := m.shown(id); s.GetEndTime() != nil {
		t.Errorf("got the end %v of a paused task", s.GetEndTime())
	}
	for _, restart := range []bool{false, true} {
		if restart {
			m.restart()
		}
		list := m.history(task.HistoryQuery{Statuses: []apiv1.Status{apiv1.StatusPaused}, Limit: 9})
		if len(list) != 1 || list[0].GetReason() != "paused by user ann" || list[0].GetState() == apiv1.Task_STATE_TERMINATED || list[0].GetAssignedTime() != nil {
			t.Errorf("got %v, want the paused task", list)
		}
		if s := m.summaries()[id+".1"]; s.GetTaskId() != id || len(s.GetResources()) > 0 {
			t.Errorf("got %v, want the paused task without machines", s)
		}
		if m.machine.has(rm.AllocationID(id+".2")) || m.machine.has(first(id)) {
			t.Error("a paused task has an allocation")
		}
	}
	m.pause(id) // repeated
	priority := 7
	if err := m.tasks.ChangeJob(t.Context(), ann(), rm.JobID(id), rm.Change{Priority: &priority}); status.Of(err) != status.FailedPrecondition {
		t.Errorf("got %v for the priority of a paused task, want a refusal", err)
	}

	m.unpause(id)
	m.wantStates("resumed", map[string]string{id: "ACTIVE"})
	if !m.machine.has(rm.AllocationID(id + ".2")) {
		t.Fatal("a resumed task is not queued")
	}
	m.unpause(id) // repeated
	m.play(rm.AllocationID(id+".2"), 0)
	m.wantStates("at its end", map[string]string{id: "COMPLETED"})
	for _, change := range []func() error{
		func() error { return m.tasks.PauseGeneric(t.Context(), ann(), id) },
		func() error { return m.tasks.UnpauseGeneric(t.Context(), ann(), id) },
	} {
		if err := change(); status.Of(err) != status.FailedPrecondition {
			t.Errorf("got %v for an ended task, want a refusal", err)
		}
	}
	if lines := strings.Join(m.lines(id), "\n"); !strings.Contains(lines, "is paused") || strings.Contains(lines, "from its start") {
		t.Errorf("got the log\n%s", lines)
	}
}

// A master that ends between any two steps of a pause completes it.
func TestPauseSurvivesRestarts(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	id := m.generic(&apiv1.CreateGenericTaskRequest{})
	m.assign(first(id), 1)
	m.changed(first(id), 0, running, nil)
	m.pause(id)
	m.machine.forgetPreempts() // the order was lost with the master
	m.restart()
	m.stopPreempted(first(id))
	m.restart()
	m.wantStates("paused", map[string]string{id: "PAUSED"})
	m.unpause(id)
	m.machine.withdraw(rm.AllocationID(id + ".2")) // it was not submitted
	m.restart()
	if !m.machine.has(rm.AllocationID(id + ".2")) {
		t.Error("a task that was resumed is not queued after a restart")
	}
}

func TestEndsDuringAPause(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	begin := func() string {
		id := m.generic(&apiv1.CreateGenericTaskRequest{})
		m.assign(first(id), 1)
		m.changed(first(id), 0, running, nil)
		m.pause(id)
		return id
	}
	finished, resumed, killed, rested := begin(), begin(), begin(), begin()

	m.changed(first(finished), 0, terminated, exit(0)) // before it could be asked to stop
	m.ended(first(finished), rm.CauseExited, "")

	m.unpause(resumed)
	m.stopPreempted(first(resumed))
	if !m.machine.has(rm.AllocationID(resumed + ".2")) {
		t.Error("a task that was resumed before it had stopped is not queued")
	}

	kill := func(id string) { m.must(func() error { return m.tasks.KillGeneric(t.Context(), ann(), id, false) }) }
	kill(killed)
	if err := m.tasks.PauseGeneric(t.Context(), ann(), killed); status.Of(err) != status.FailedPrecondition {
		t.Errorf("got %v for a task that is being killed, want a refusal", err)
	}
	m.changed(first(killed), 0, terminated, exit(137))
	m.ended(first(killed), rm.CauseKilled, "killed by user ann")

	m.stopPreempted(first(rested))
	kill(rested)
	want := map[string]string{finished: "COMPLETED", resumed: "ACTIVE", killed: "CANCELED", rested: "CANCELED"}
	m.wantStates("at their ends", want)
	m.restart()
	m.wantStates("after a restart", want)
	if list := m.history(task.HistoryQuery{Statuses: []apiv1.Status{apiv1.StatusKilled}, Limit: 9}); len(list) != 2 {
		t.Errorf("got %v, want both killed tasks", list)
	}
}

func TestFamiliesOfGenericTasks(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	top := m.generic(&apiv1.CreateGenericTaskRequest{})
	child := m.childOf(top)
	grandchild := m.childOf(child)
	stays := m.generic(&apiv1.CreateGenericTaskRequest{ParentId: &child, NoPause: proto.Bool(true)})
	other := m.generic(&apiv1.CreateGenericTaskRequest{})
	if s := m.shown(grandchild); s.GetParentId() != child || s.GetNoPause() {
		t.Errorf("got %v, want a child of %s", s, child)
	}
	if err := m.tasks.PauseGeneric(t.Context(), ann(), stays); status.Of(err) != status.FailedPrecondition || !strings.Contains(err.Error(), "cannot be paused") {
		t.Errorf("got %v, want a refusal to pause", err)
	}

	m.pause(child)
	for _, id := range []string{child, grandchild} {
		m.stopPreempted(first(id))
	}
	m.wantStates("after the pause of a child", map[string]string{top: "ACTIVE", child: "PAUSED", grandchild: "PAUSED", stays: "ACTIVE", other: "ACTIVE"})
	if _, err := m.create(ann(), &apiv1.CreateGenericTaskRequest{Config: sleeper, ParentId: &child}); status.Of(err) != status.FailedPrecondition {
		t.Errorf("got %v for a child of a paused task, want a refusal", err)
	}
	m.unpause(top)
	m.wantStates("after the top was resumed", map[string]string{child: "ACTIVE", grandchild: "ACTIVE"})

	m.must(func() error { return m.tasks.KillGeneric(t.Context(), ann(), grandchild, true) })
	for _, id := range []string{string(first(top)), child + ".2", grandchild + ".2", string(first(stays))} {
		if m.machine.killed(rm.AllocationID(id)) == "" {
			t.Errorf("allocation %s was not killed with the root of its tree", id)
		}
	}
	if m.machine.killed(first(other)) != "" {
		t.Error("a task of another tree was killed")
	}
	if _, err := m.create(ann(), &apiv1.CreateGenericTaskRequest{Config: sleeper, ParentId: &top}); status.Of(err) != status.FailedPrecondition {
		t.Errorf("got %v for a child of a killed task, want a refusal", err)
	}
}

func TestBoundsOfFamilies(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	id := m.generic(&apiv1.CreateGenericTaskRequest{})
	var err error
	depth := 0
	for ; err == nil && depth < 99; depth++ {
		id, err = m.create(ann(), &apiv1.CreateGenericTaskRequest{Config: sleeper, ParentId: &id})
	}
	if status.Of(err) != status.FailedPrecondition || depth != 11 {
		t.Errorf("got %v after %d generations, want a bound", err, depth)
	}
}

func TestForks(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	files := []*apiv1.File{{Path: "a.py", Type: 48, Mode: 0o644, Content: []byte("print(1)")}}
	source := m.generic(&apiv1.CreateGenericTaskRequest{
		Config:           "description: x\nentrypoint: [python, a.py]\nresources: {slots: 4, is_single_node: true}\nenvironment: {environment_variables: [A=1]}\n",
		ContextDirectory: files,
	})
	fork := m.generic(&apiv1.CreateGenericTaskRequest{ForkedFrom: &source})
	if s := m.shown(fork); s.GetForkedFrom() != source || s.GetParentId() != "" {
		t.Errorf("got %v, want a fork of %s", s, source)
	}
	of := func(id string) string {
		out, err := m.tasks.GenericConfig(t.Context(), ann(), id)
		if err != nil {
			t.Fatal(err)
		}
		return out.GetConfig()
	}
	if of(source) != of(fork) || !strings.Contains(of(fork), `"is_single_node":true`) {
		t.Errorf("got\n%s\nwant\n%s", of(fork), of(source))
	}
	if r := m.machine.request(first(fork)); !r.SingleNode {
		t.Error("is_single_node has no effect")
	}
	child := m.generic(&apiv1.CreateGenericTaskRequest{ParentId: &source, InheritContext: proto.Bool(true)})
	for _, id := range []string{fork, child} {
		if !bytes.Equal(m.context(id), m.context(source)) || !m.assign(first(id), 1)[0].GetContext() {
			t.Errorf("task %s does not have the files of %s", id, source)
		}
	}
	if own := m.generic(&apiv1.CreateGenericTaskRequest{ForkedFrom: &source, Config: sleeper}); strings.Contains(of(own), "a.py") || len(m.context(own)) == 0 {
		t.Errorf("got %s, want a configuration of its own and copied files", of(own))
	}
}

// A fork of an ended task can pull its image, until the task is no longer listed.
func TestForksKeepThePasswordOfTheRegistry(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	source := m.generic(&apiv1.CreateGenericTaskRequest{
		Config: "entrypoint: sleep 9\nresources: {slots: 1}\nenvironment: {registry_auth: {username: robot, password: hush}}\n",
	})
	m.assign(first(source), 1)
	m.changed(first(source), 0, terminated, exit(0))
	m.ended(first(source), rm.CauseExited, "")
	fork := m.generic(&apiv1.CreateGenericTaskRequest{ForkedFrom: &source})
	if got := m.assign(first(fork), 1)[0].GetRegistryAuth(); got.GetPassword() != "hush" {
		t.Errorf("got %v, want the password of the source", got)
	}
	if text := m.shown(source).GetConfig(); strings.Contains(text, "hush") {
		t.Errorf("got %s, want no password shown", text)
	}
	if n, err := m.tasks.Collect(t.Context(), time.Now().Add(25*time.Hour), 0); n != 1 || err != nil {
		t.Fatalf("got %d tasks removed and %v, want one", n, err)
	}
	if text := m.shown(source).GetConfig(); strings.Contains(text, "robot") {
		t.Errorf("got %s, want no credentials after the task has left the lists", text)
	}
}

func TestRefusedGenericTasks(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	id := m.generic(&apiv1.CreateGenericTaskRequest{})
	command := m.launch(`{"entrypoint":["true"]}`).GetCommand().GetId()
	for _, tt := range []struct {
		name string
		by   *apiv1.User
		req  *apiv1.CreateGenericTaskRequest
		code status.Code
		want string
	}{
		{"no configuration", ann(), &apiv1.CreateGenericTaskRequest{}, status.InvalidArgument, "config: must be set"},
		{"not YAML", ann(), &apiv1.CreateGenericTaskRequest{Config: "a: [b"}, status.InvalidArgument, "unable to decode"},
		{"an unknown key", ann(), &apiv1.CreateGenericTaskRequest{Config: "entrypont: x"}, status.InvalidArgument, "entrypont"},
		{"a wrong value", ann(), &apiv1.CreateGenericTaskRequest{Config: "resources: {slots: -1}"}, status.InvalidArgument, "resources.slots"},
		{"too long", ann(), &apiv1.CreateGenericTaskRequest{Config: strings.Repeat("#", 2<<20)}, status.InvalidArgument, "maximum"},
		{"no parent", ann(), &apiv1.CreateGenericTaskRequest{Config: sleeper, ParentId: proto.String("none")}, status.NotFound, "parentId: "},
		{"a parent of another kind", ann(), &apiv1.CreateGenericTaskRequest{Config: sleeper, ParentId: &command}, status.NotFound, "parentId: "},
		{"a parent of another user", bob(), &apiv1.CreateGenericTaskRequest{Config: sleeper, ParentId: &id}, status.PermissionDenied, "add children to"},
		{"no source", ann(), &apiv1.CreateGenericTaskRequest{ForkedFrom: proto.String("none")}, status.NotFound, "forkedFrom: "},
		{"a source of another user", bob(), &apiv1.CreateGenericTaskRequest{ForkedFrom: &id}, status.PermissionDenied, "fork"},
		{"files of no parent", ann(), &apiv1.CreateGenericTaskRequest{Config: sleeper, InheritContext: proto.Bool(true)}, status.InvalidArgument, "inheritContext: "},
		{
			"two sets of files", ann(),
			&apiv1.CreateGenericTaskRequest{Config: sleeper, ParentId: &id, InheritContext: proto.Bool(true), ContextDirectory: []*apiv1.File{{Path: "a", Type: 48}}},
			status.InvalidArgument, "inheritContext: ",
		},
	} {
		if _, err := m.create(tt.by, tt.req); status.Of(err) != tt.code || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %v and %q", tt.name, err, tt.code, tt.want)
		}
	}
	for name, change := range map[string]func(*apiv1.User, string) error{
		"pause":   func(u *apiv1.User, id string) error { return m.tasks.PauseGeneric(t.Context(), u, id) },
		"unpause": func(u *apiv1.User, id string) error { return m.tasks.UnpauseGeneric(t.Context(), u, id) },
		"kill":    func(u *apiv1.User, id string) error { return m.tasks.KillGeneric(t.Context(), u, id, true) },
		"config": func(u *apiv1.User, id string) error {
			_, err := m.tasks.GenericConfig(t.Context(), u, id)
			return err
		},
	} {
		if err := change(bob(), id); status.Of(err) != status.PermissionDenied {
			t.Errorf("%s by another user: got %v, want a refusal", name, err)
		}
		if err := change(ann(), command); status.Of(err) != status.NotFound {
			t.Errorf("%s of a command: got %v, want not found", name, err)
		}
	}
	m.wantStates("after refusals", map[string]string{id: "ACTIVE"})
	if got := m.strayParts(); slices.Contains(got, id) {
		t.Errorf("got files of %v", got)
	}
}

// The tasks of a workspace end with it, whatever their kind, and also those that are paused.
func TestKillOpen(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	command, shell := m.launch(`{"entrypoint":["true"]}`).GetCommand().GetId(), m.launchKind(lifecycle.Shell, `{}`)
	paused := m.generic(&apiv1.CreateGenericTaskRequest{})
	m.pause(paused)
	m.ended(first(paused), rm.CausePreempted, "paused by user ann")
	if err := m.tasks.KillOpen(t.Context(), bob(), 1); status.Of(err) != status.PermissionDenied {
		t.Errorf("got %v for another user, want a refusal", err)
	}
	m.must(func() error { return m.tasks.KillOpen(t.Context(), root(), 2) })
	m.wantStates("after the end of another workspace", map[string]string{paused: "PAUSED"})
	m.must(func() error { return m.tasks.KillOpen(t.Context(), root(), 1) })
	m.wantStates("after the end of its workspace", map[string]string{paused: "CANCELED"})
	for _, id := range []string{command, shell} {
		if m.machine.killed(first(id)) != "killed by user admin" {
			t.Errorf("task %s was not killed", id)
		}
	}
}
