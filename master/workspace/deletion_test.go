package workspace

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// experiments are the experiments in the projects of a test. Each call deletes one.
type experiments struct {
	mu    sync.Mutex // guards the fields below
	left  map[int32]int
	fail  error
	by    []string
	again []bool
}

func (e *experiments) Count() map[int32]Counts {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := map[int32]Counts{}
	for project, n := range e.left {
		out[project] = Counts{Experiments: int32(n)}
	}
	return out
}

func (e *experiments) DeleteAll(_ context.Context, by *apiv1.User, project int32, again bool) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.by = append(e.by, by.GetUsername())
	e.again = append(e.again, again)
	if e.fail != nil {
		return e.left[project], e.fail
	}
	e.left[project] = max(0, e.left[project]-1)
	return e.left[project], nil
}

func (e *experiments) set(project int32, n int, fail error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.left[project], e.fail = n, fail
}

// await waits for a condition of the deletions.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	limit := time.After(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-limit:
			t.Fatalf("waited for %s", what)
		case <-tick.C:
		}
	}
}

// run processes deletions until the returned function is called.
func (w *world) run() (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx) }()
	return func() { cancel(); <-done }
}

func TestDeletionState(t *testing.T) {
	w := newWorld(t)
	team := w.workspace(ann(), "team")
	p := w.project(bob(), team.GetId(), "p")
	w.exps.set(p.GetId(), 4, nil)
	done, err := w.DeleteProject(t.Context(), bob(), p.GetId())
	if err != nil || done {
		t.Fatal(done, err)
	}
	got, err := w.ShowProject(p.GetId())
	if err != nil || got.GetState() != apiv1.WorkspaceState_WORKSPACE_STATE_DELETING || got.GetNumExperiments() != 3 {
		t.Fatal(got, err)
	}
	_, err = w.findEditable(bob(), p.GetId())
	w.code(err, status.FailedPrecondition, "change it meanwhile")
	w.restart() // the next master continues
	defer w.run()()
	await(t, "the project to be gone", func() bool { _, err := w.ShowProject(p.GetId()); return status.Of(err) == status.NotFound })
	if w.exps.Count()[p.GetId()].Experiments != 0 || w.exps.by[0] != "bob" || !w.exps.again[0] || w.exps.again[1] {
		t.Errorf("%d experiments are left, deleted by %q", w.exps.Count()[p.GetId()].Experiments, w.exps.by)
	}
}

func TestFailedDeletionCanBeRepeated(t *testing.T) {
	w := newWorld(t)
	team := w.workspace(ann(), "team")
	p := w.project(ann(), team.GetId(), "p")
	w.exps.set(p.GetId(), 2, errors.New("experiment 7 is in use"))
	if done, err := w.Delete(t.Context(), ann(), team.GetId()); err != nil || done {
		t.Fatal(done, err)
	}
	w.restart()
	got, err := w.Get(ann(), team.GetId())
	if err != nil || got.GetState() != apiv1.WorkspaceState_WORKSPACE_STATE_DELETE_FAILED || got.GetErrorMessage() != "experiment 7 is in use" {
		t.Fatal(got, err)
	}
	w.exps.set(p.GetId(), 0, nil)
	if done, err := w.Delete(t.Context(), ann(), team.GetId()); err != nil || !done {
		t.Fatal(done, err)
	}
	w.restart()
	if _, err := w.Get(ann(), team.GetId()); status.Of(err) != status.NotFound {
		t.Error(err)
	}
	if _, err := w.ShowProject(p.GetId()); status.Of(err) != status.NotFound {
		t.Error(err)
	}
}

// content is the other content of a workspace.
type content struct {
	refuse error
	gone   []int32
}

func (c *content) CheckDelete(int32) error { return c.refuse }

func (c *content) DeleteAll(_ context.Context, _ *apiv1.User, id int32) error {
	c.gone = append(c.gone, id)
	return nil
}

func TestDeletionOfContent(t *testing.T) {
	w := newWorld(t)
	templates, models := &content{}, &content{refuse: status.New(status.FailedPrecondition, "it has models")}
	w.more = []Content{templates, models}
	w.restart()
	team := w.workspace(ann(), "team")
	_, err := w.Delete(t.Context(), ann(), team.GetId())
	w.code(err, status.FailedPrecondition, "delete it with models")
	if got, _ := w.Get(ann(), team.GetId()); got.GetState() != 0 || len(templates.gone) > 0 {
		t.Errorf("it is %v, and templates of %v are gone", got, templates.gone)
	}
	models.refuse = nil
	if done, err := w.Delete(t.Context(), ann(), team.GetId()); err != nil || !done {
		t.Fatal(done, err)
	}
	if len(templates.gone) != 1 || templates.gone[0] != team.GetId() {
		t.Errorf("templates of %v are gone", templates.gone)
	}
}
