package experiment

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
)

// await waits up to a minute for a condition.
func (w *world) await(what string, condition func() bool) {
	w.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); runtime.Gosched() {
		if time.Now().After(deadline) {
			w.Fatalf("waited a minute for %s", what)
		}
	}
}

func TestReconcileLoop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var g errgroup.Group
	g.Go(func() error { return w.x.Reconcile(ctx) })
	for range 3 {
		if _, err := w.x.Create(t.Context(), Order{By: ann(), Config: single, Activate: true}); err != nil {
			t.Fatal(err)
		}
	}
	w.await("three runs", func() bool { return len(w.machine.open()) == 3 })
	id := w.place(2)
	if err := w.x.Ask(t.Context(), ann(), 2, lifecycle.Pause); err != nil {
		t.Fatal(err)
	}
	w.await("the signal", func() bool { asked, _ := w.machine.asked(id); return asked })
	w.machine.forget(id)
	w.heedQuietly(id)
	if err := w.x.Ask(t.Context(), ann(), 2, lifecycle.Activate); err != nil {
		t.Fatal(err)
	}
	w.await("the next run", func() bool { return w.allocationOf(w.trial(2)) != "" })
	cancel()
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

func TestRunsStopDespiteQueueErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.x.Create(t.Context(), Order{By: ann(), Config: single, Activate: true}); err != nil {
		t.Fatal(err)
	}
	w.reconcile()
	id := w.place(1)
	w.machine.unchanging = errors.New("weight: has no meaning here")
	weight := 2.0
	_, err := w.x.Patch(t.Context(), ann(), 1, Patch{Weight: &weight})
	if v, _ := w.get(1); status.Of(err) != status.InvalidArgument || v.Queue.Weight != 1 {
		t.Errorf("a weight where there are none: got %v, want it refused", err)
	}
	w.restart()
	if err := w.x.Ask(t.Context(), ann(), 1, lifecycle.Kill); err != nil {
		t.Fatal(err)
	}
	err = w.x.reconcile(t.Context(), 1)
	if _, killed := w.machine.asked(id); !killed || !errors.Is(err, w.machine.unchanging) {
		t.Errorf("got killed %t, %v; want the run killed, and the refusal told", killed, err)
	}
}

func TestDirtyQueueIsExclusive(t *testing.T) {
	t.Parallel()
	d := newDirty()
	d.wake(1)
	if got := d.take(); len(got) != 1 {
		t.Fatalf("got %v, want experiment 1", got)
	}
	d.wake(1)
	if got := d.take(); len(got) != 0 {
		t.Errorf("got %v while it is taken, want nothing", got)
	}
	<-d.wakes
	d.finish(1)
	select {
	case <-d.wakes:
	default:
		t.Error("what came meanwhile wakes no one")
	}
	if got := d.take(); len(got) != 1 {
		t.Errorf("got %v, want experiment 1 again", got)
	}
}
