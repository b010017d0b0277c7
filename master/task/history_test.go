package task_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task"
)

// launchLabelled launches a command of ann with labels.
func (m *master) launchLabelled(labels map[string]string) string {
	m.t.Helper()
	req := command(m.t, echo)
	req.Labels = labels
	r, err := m.tasks.Launch(m.t.Context(), ann(), req, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	return r.GetCommand().GetId()
}

// history returns all commands that a query selects, read in pages of two.
func (m *master) history(q task.HistoryQuery) (out []*apiv1.Command) {
	m.t.Helper()
	for q.Limit = 2; ; {
		r, err := m.tasks.History(m.t.Context(), q)
		if err != nil {
			m.t.Fatal(err)
		}
		if out = append(out, r.GetTasks()...); r.GetNext() == "" || len(out) > 100 {
			return out
		}
		q.After = r.GetNext()
	}
}

func idsOf(list []*apiv1.Command) string {
	var ids []string
	for _, c := range list {
		ids = append(ids, c.GetId())
	}
	return strings.Join(ids, " ")
}

// historyTasks are the IDs of commands in all states.
type historyTasks struct{ queued, running, failed, killed, succeeded string }

func (m *master) makeHistory() (of historyTasks) {
	m.t.Helper()
	of.failed = m.launchLabelled(map[string]string{"team": "vision", "size": "big"})
	m.assign(first(of.failed), 1)
	m.changed(first(of.failed), 0, running, nil)
	m.changed(first(of.failed), 0, terminated, exit(3))
	m.ended(first(of.failed), rm.CauseExited, "")
	of.killed = m.launchLabelled(map[string]string{"team": "vision"})
	if _, err := m.tasks.Kill(m.t.Context(), root(), of.killed); err != nil {
		m.t.Fatal(err)
	}
	m.ended(first(of.killed), rm.CauseKilled, "")
	of.succeeded = m.launchLabelled(nil)
	m.finish(of.succeeded)
	of.running = m.launchLabelled(map[string]string{"team": "speech"})
	m.assign(first(of.running), 1)
	m.changed(first(of.running), 0, running, nil)
	of.queued = m.launchLabelled(map[string]string{"team": "vision"})
	return of
}

// The history has the same commands and outcomes when they are no longer listed, and after a restart.
func TestHistoryOutlivesTheLists(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	of := m.makeHistory()
	before := m.history(task.HistoryQuery{})
	if got, want := idsOf(before), strings.Join([]string{of.queued, of.running, of.succeeded, of.killed, of.failed}, " "); got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	collect := func() {
		if n, err := m.tasks.Collect(t.Context(), time.Now().Add(25*time.Hour), 0); n != 3 || err != nil {
			t.Fatalf("got %d taken out of the lists and %v, want 3", n, err)
		}
		if n := len(m.commands()); n != 2 {
			t.Fatalf("got %d listed commands, want 2", n)
		}
	}
	for what, change := range map[string]func(){"unlisted": collect, "restarted": m.restart} {
		change()
		after := m.history(task.HistoryQuery{})
		for i, c := range after {
			if !proto.Equal(c, before[i]) {
				t.Errorf("%s: got %v, want %v", what, c, before[i])
			}
		}
		if len(after) != len(before) {
			t.Fatalf("%s: got %d commands, want %d", what, len(after), len(before))
		}
	}
	if names, err := m.tasks.Named(t.Context(), of.killed[:8], 5); err != nil || len(names) != 1 || names[0].GetState() != "killed" {
		t.Errorf("got %v and %v by the beginning of its ID", names, err)
	}
	killed, err := m.tasks.Detail(t.Context(), of.killed)
	if c := killed.GetCommand(); err != nil || c.GetStatus() != "killed" || c.GetKilledBy() != "admin" || c.GetLabels()["team"] != "vision" {
		t.Errorf("got %v and %v, want who killed it", c, err)
	}
}

func TestHistoryIsFiltered(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	of := m.makeHistory()
	for name, tt := range map[string]struct {
		q    task.HistoryQuery
		want []string
	}{
		"one state":               {task.HistoryQuery{Statuses: []apiv1.Status{apiv1.StatusFailed}}, []string{of.failed}},
		"states of both kinds":    {task.HistoryQuery{Statuses: []apiv1.Status{apiv1.StatusKilled, apiv1.StatusRunning}}, []string{of.running, of.killed}},
		"only open ones":          {task.HistoryQuery{Statuses: apiv1.OpenStatuses()}, []string{of.queued, of.running}},
		"a label":                 {task.HistoryQuery{Labels: map[string]string{"team": "vision"}}, []string{of.queued, of.killed, of.failed}},
		"labels":                  {task.HistoryQuery{Labels: map[string]string{"team": "vision", "size": "big"}}, []string{of.failed}},
		"a label and a state":     {task.HistoryQuery{Labels: map[string]string{"team": "vision"}, Statuses: []apiv1.Status{apiv1.StatusQueued}}, []string{of.queued}},
		"another value":           {task.HistoryQuery{Labels: map[string]string{"team": "none"}}, nil},
		"another user":            {task.HistoryQuery{UserIDs: []int32{bob().GetId()}}, nil},
		"the user":                {task.HistoryQuery{UserIDs: []int32{ann().GetId()}, Statuses: apiv1.EndStatuses()}, []string{of.succeeded, of.killed, of.failed}},
		"another pool":            {task.HistoryQuery{Pools: []string{"none"}}, nil},
		"ended from tomorrow on":  {task.HistoryQuery{Since: time.Now().Add(time.Hour)}, []string{of.queued, of.running}},
		"ended from yesterday on": {task.HistoryQuery{Since: time.Now().Add(-time.Hour), Labels: map[string]string{"size": "big"}}, []string{of.failed}},
	} {
		if got := idsOf(m.history(tt.q)); got != strings.Join(tt.want, " ") {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
	_, err := m.tasks.History(t.Context(), task.HistoryQuery{After: "x", Limit: 1})
	if status.Of(err) != status.InvalidArgument {
		t.Errorf("got %v, want InvalidArgument for a forged position", err)
	}
}

func TestHistoryEndsWithTheLog(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	of := m.makeHistory()
	if _, err := m.tasks.Collect(t.Context(), time.Now().Add(100*time.Hour), time.Hour); err != nil {
		t.Fatal(err)
	}
	if got, want := idsOf(m.history(task.HistoryQuery{})), of.queued+" "+of.running; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := idsOf(m.history(task.HistoryQuery{Labels: map[string]string{"size": "big"}})); got != "" {
		t.Errorf("got %q by a label, want none", got)
	}
}

// The store of an earlier version has no history.
func TestCommandsOfAnEarlierVersionAreInTheHistory(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	of := m.makeHistory()
	want := idsOf(m.history(task.HistoryQuery{}))
	err := m.store.Write(t.Context(), func(tx *store.Tx) error {
		for _, id := range []string{of.failed, of.killed, of.succeeded} {
			if err := store.DeleteTaskEnd(tx, store.TaskEnd{ID: id}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := idsOf(m.history(task.HistoryQuery{})); got != of.queued+" "+of.running {
		t.Fatalf("got %q before", got)
	}
	if _, err := m.tasks.Collect(t.Context(), time.Now(), 0); err != nil {
		t.Fatal(err)
	}
	if got := idsOf(m.history(task.HistoryQuery{})); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestInvalidLabelsAreRefused(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for i := range task.MostLabels + 1 {
		many[fmt.Sprint("k", i)] = "v"
	}
	long := strings.Repeat("a", 63)
	for name, tt := range map[string]struct {
		labels map[string]string
		valid  bool
	}{
		"none":                 {nil, true},
		"usual ones":           {map[string]string{"team": "vision", "example.com/run-id": "7.1_b", long: long, "empty": ""}, true},
		"too many":             {many, false},
		"an empty key":         {map[string]string{"": "x"}, false},
		"a long key":           {map[string]string{long + "a": "x"}, false},
		"a long value":         {map[string]string{"a": long + "a"}, false},
		"a key with a space":   {map[string]string{"a b": "x"}, false},
		"an equals sign":       {map[string]string{"a=b": "x"}, false},
		"a value with a slash": {map[string]string{"a": "x/y"}, false},
		"a dash at the end":    {map[string]string{"a-": "x"}, false},
		"two slashes":          {map[string]string{"a/b/c": "x"}, false},
	} {
		if err := task.CheckLabels(tt.labels); (err == nil) != tt.valid || err != nil && status.Of(err) != status.InvalidArgument {
			t.Errorf("%s: got %v, want valid: %t", name, err, tt.valid)
		}
	}
	m := newMaster(t)
	req := command(t, echo)
	req.Labels = many
	if _, err := m.tasks.Launch(t.Context(), ann(), req, nil); status.Of(err) != status.InvalidArgument {
		t.Errorf("got %v, want InvalidArgument", err)
	}
}
