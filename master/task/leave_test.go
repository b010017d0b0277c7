package task_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

const echo = `{"entrypoint": ["echo", "hi"], "resources": {"slots": 1}}`

// finish runs a command to its end.
func (m *master) finish(id string) {
	m.t.Helper()
	m.assign(first(id), 1)
	m.changed(first(id), 0, apiv1.Container_STATE_TERMINATED, exit(0))
	m.ended(first(id), rm.CauseExited, "")
}

// readAgain returns the number of tasks that a restarted master loads.
func (m *master) readAgain() int {
	m.t.Helper()
	n := 0
	err := store.Collection[lifecycle.Task]{Kind: "task"}.EachUndated(m.t.Context(), m.store, func(string) *lifecycle.Task {
		n++
		return &lifecycle.Task{}
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return n
}

func TestEndedTasksLeaveMemoryAndAreFound(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	request := command(t, echo)
	request.RequestId = "once"
	request.Files = []*apiv1.File{{Path: "a", Content: []byte("1"), Mode: 0o644}}
	r, err := m.tasks.Launch(t.Context(), ann(), request, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := r.GetCommand().GetId()
	m.finish(id)
	for range 3 { // each end lets the earlier tasks leave
		m.finish(m.launch(echo).GetCommand().GetId())
	}
	if n := m.readAgain(); n != 0 {
		t.Errorf("%d tasks would be read again, want none that have ended", n)
	}
	for range 2 {
		m.checkEnded(t, id, request)
		m.restart()
	}
	if n := m.readAgain(); n != 0 {
		t.Errorf("%d tasks would be read again after two restarts, want none", n)
	}
}

// checkEnded calls everything that takes a command's id.
func (m *master) checkEnded(t *testing.T, id string, request *apiv1.LaunchCommandRequest) {
	t.Helper()
	ctx, submits := t.Context(), m.machine.submits
	got := m.command(id)
	if got.GetState() != apiv1.Task_STATE_TERMINATED || got.GetExitStatus() == "" || got.GetContainer() == nil {
		t.Errorf("got %v, want how it ended", got)
	}
	if r, err := m.tasks.Launch(ctx, ann(), request, nil); err != nil || r.GetCommand().GetId() != id || m.machine.submits != submits {
		t.Errorf("submitted again: got %v and %v, %d submissions; want the first", r.GetCommand().GetId(), err, m.machine.submits-submits)
	}
	if r, err := m.tasks.Kill(ctx, ann(), id); err != nil || r.GetCommand().GetExitStatus() != got.GetExitStatus() {
		t.Errorf("killed: got %v and %v, want it as it is", r.GetCommand(), err)
	}
	if _, err := m.tasks.Kill(ctx, bob(), id); status.Of(err) != status.PermissionDenied {
		t.Errorf("killed by another user: got %v", err)
	}
	if err := m.tasks.ChangeJob(ctx, ann(), rm.JobID(id), rm.Change{}); status.Of(err) != status.FailedPrecondition {
		t.Errorf("changed: got %v", err)
	}
	if r, err := m.tasks.Task(ctx, id); err != nil || len(r.GetTask().GetAllocations()) != 1 {
		t.Errorf("described: got %v and %v", r, err)
	}
	if a, err := m.tasks.FindAllocation(ctx, string(first(id))); err != nil || a.GetState() != apiv1.Task_STATE_TERMINATED {
		t.Errorf("its allocation: got %v and %v", a, err)
	}
	if size, _, err := m.tasks.ContextDirectory(ctx, id); err != nil || size == 0 {
		t.Errorf("its files: got %d bytes and %v", size, err)
	}
	if owner, err := m.tasks.Owner(ctx, id); err != nil || owner != ann().GetId() {
		t.Errorf("its owner: got %d and %v", owner, err)
	}
	if lines := m.lines(id); len(lines) < 3 || !strings.Contains(lines[len(lines)-1], "exited successfully") && !strings.Contains(lines[len(lines)-1], "terminated") {
		t.Errorf("its log: got %q", lines)
	}
	follow, err := m.tasks.Log(ctx, log.Filter{Task: id}, true)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range follow { // it ends
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != len(m.lines(id)) {
		t.Errorf("followed %d lines, want %d", n, len(m.lines(id)))
	}
	// Late events change nothing, but late log lines are stored.
	m.ended(first(id), rm.CauseExited, "")
	if next, err := m.tasks.NextSeq(ctx, first(id), containerID(first(id), 0)); err != nil || next != 0 {
		t.Errorf("the next line: got %d and %v", next, err)
	}
}

// An earlier version that was killed between the end of a task and its last lines left an ended task
// without a time in the store. Its lines are copied once, and the task leaves memory.
func TestLastLinesOfEarlierVersionsAreCopied(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	id := m.launch(echo).GetCommand().GetId()
	m.finish(id)
	want := m.lines(id)
	if err := m.store.Write(t.Context(), func(tx *store.Tx) error {
		return errors.Join(store.DeleteLogs(tx, id), store.EndTaskRow(tx, id, 0),
			store.Collection[lifecycle.Task]{Kind: "task"}.SetTime(tx, id, time.Time{}))
	}); err != nil {
		t.Fatal(err)
	}
	m.restart()
	if got := m.lines(id); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	m.finish(m.launch(echo).GetCommand().GetId())
	if n := m.readAgain(); n != 0 {
		t.Errorf("%d tasks would be read again, want none", n)
	}
}

func TestListsAreCutBeforeTheyAreShown(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	var ids []string
	for i := range 30 {
		r, err := m.tasks.Launch(t.Context(), []*apiv1.User{ann(), bob()}[i%2], command(t, fmt.Sprintf(
			`{"entrypoint": ["true"], "description": "n%02d", "resources": {"slots": %d}}`, 29-i, i/15)), nil)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.GetCommand().GetId())
	}
	for i, id := range ids {
		if i%3 > 0 { // two of three end, between the waiting ones
			m.finish(id)
		}
	}
	reversed := slices.Clone(ids)
	slices.Reverse(reversed)
	of := func(i int) []string {
		var list []string
		for n, id := range ids {
			if n%2 == i {
				list = append(list, id)
			}
		}
		return list
	}
	for name, row := range map[string]struct {
		q    task.CommandQuery
		want []string
	}{
		"oldest first":        {task.CommandQuery{}, ids},
		"newest first":        {task.CommandQuery{Descending: true}, reversed},
		"by name":             {task.CommandQuery{Order: task.ByName}, reversed},
		"by name, descending": {task.CommandQuery{Order: task.ByName, Descending: true}, ids},
		"by id":               {task.CommandQuery{Order: task.ByID}, slices.Sorted(slices.Values(ids))},
		"by pool":             {task.CommandQuery{Order: task.ByPool}, ids},
		"by user":             {task.CommandQuery{Order: task.ByUsername}, append(of(0), of(1)...)},
		"by workspace":        {task.CommandQuery{Order: task.ByWorkspace}, ids},
		"of a user":           {task.CommandQuery{Usernames: []string{"bob"}}, of(1)},
		"of a user's id":      {task.CommandQuery{UserIDs: []int32{7}}, of(0)},
		"of either":           {task.CommandQuery{UserIDs: []int32{7}, Usernames: []string{"bob"}}, ids},
		"of an unknown user":  {task.CommandQuery{UserIDs: []int32{99}}, nil},
		"of a workspace":      {task.CommandQuery{Workspace: 1}, ids},
		"of no workspace":     {task.CommandQuery{Workspace: 5}, nil},
	} {
		for _, part := range [][2]int{{0, 30}, {3, 7}, {12, 18}, {25, 30}} {
			row.q.Cut = func(n int) (from, to int) {
				if n != len(row.want) {
					t.Errorf("%s: counted %d, want %d", name, n, len(row.want))
				}
				return min(part[0], n), min(part[1], n)
			}
			list, err := m.tasks.Commands(t.Context(), row.q)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range list {
				got = append(got, c.GetId())
			}
			if want := row.want[min(part[0], len(row.want)):min(part[1], len(row.want))]; !slices.Equal(got, want) {
				t.Errorf("%s, %v: got %v, want %v", name, part, got, want)
			}
		}
	}
}

func TestMostListedLimitsEndedTasks(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	m.edit = func(c *task.Config) { c.MostListed = 2 }
	m.restart()
	open := m.launch(echo).GetCommand().GetId()
	var ended []string
	for range 5 {
		id := m.launch(echo).GetCommand().GetId()
		m.finish(id)
		ended = append(ended, id)
	}
	if n, err := m.tasks.Collect(t.Context(), time.Now(), 0); n != 3 || err != nil {
		t.Errorf("got %d taken out of the lists and %v, want 3", n, err)
	}
	var got []string
	for _, c := range m.commands() {
		got = append(got, c.GetId())
	}
	if want := []string{open, ended[3], ended[4]}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if len(m.lines(ended[0])) == 0 {
		t.Error("the log of one that is not listed cannot be read")
	}
}

// The store of an earlier version has no rows, and has ended tasks whose last lines may be missing.
func TestTasksOfAnEarlierVersionAreListed(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	waits := m.launch(echo).GetCommand().GetId()
	var ids []string
	for range 5 {
		id := m.launch(echo).GetCommand().GetId()
		m.finish(id)
		ids = append(ids, id)
	}
	tasks := store.Collection[lifecycle.Task]{Kind: "task"}
	docs, err := tasks.All(t.Context(), m.store)
	if err != nil {
		t.Fatal(err)
	}
	last := m.lines(ids[4])
	err = m.store.Write(t.Context(), func(tx *store.Tx) error {
		for _, d := range docs {
			if err := store.DeleteTaskRow(tx, d.ID); err != nil {
				return err
			}
			if err := tasks.SetTime(tx, d.ID, d.Value.Ended); err != nil {
				return err
			}
		}
		if err := store.DeleteLogs(tx, ids[4]); err != nil {
			return err
		}
		return store.Collection[struct{}]{Kind: "task_rows"}.Delete(tx, "commands")
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := m.tasks.CountCommands(t.Context()); n != 0 || err != nil {
		t.Fatalf("the store lists %d tasks and %v", n, err)
	}
	m.restart()
	if n := len(m.commands()); n != 6 {
		t.Errorf("got %d commands, want 6", n)
	}
	if got := m.lines(ids[4]); !slices.Equal(got, last) {
		t.Errorf("got %q, want %q", got, last)
	}
	if _, err := m.tasks.Kill(t.Context(), ann(), waits); err != nil {
		t.Error(err)
	}
	if n, err := m.tasks.Collect(t.Context(), time.Now().Add(25*time.Hour), 0); n != 5 || err != nil {
		t.Errorf("got %d taken out of the lists and %v, want 5", n, err)
	}
}
