package machine_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	gcp "github.com/det-deploy/det-deploy/cloud/gcp/machine"
	"github.com/det-deploy/det-deploy/cloud/host/notice"
	"github.com/det-deploy/det-deploy/cloud/machine"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

const terminates = "TERMINATE_ON_HOST_MAINTENANCE"

// watch starts watching for notices, like the host service.
func watch(t *testing.T, l *lab, hasGPU bool) *notice.Watch {
	t.Helper()
	w := notice.New(gcp.NewNotices(l.server(), hasGPU, time.Now).Read, slog.New(slog.NewTextHandler(&l.log, nil)), time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return w
}

// next returns the next notice and the time until it arrived.
func next(t *testing.T, w *notice.Watch, after int64) (machine.Notice, time.Duration) {
	t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	n, found := w.Next(ctx, after)
	if !found {
		t.Fatal("got no notice")
	}
	return n, time.Since(began)
}

// pass advances the fake clock.
func pass(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // synctest's clock

func TestPreemptionNotice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := newLab(t, gcptest.Options{})
		w := watch(t, l, false)
		pass(70 * time.Second) // longer than one poll
		at := time.Now()
		l.world.Preempt(gcptest.Project, zone, name)
		n, took := next(t, w, 0)
		if took > time.Second || n.Kind != machine.Interruption || n.At.Sub(at.Add(30*time.Second)).Abs() > time.Second || n.Reason != "spot preemption" {
			t.Errorf("got %+v after %s, want an interruption in 30 s at once", n, took)
		}
		pass(70 * time.Second) // it is polled again
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if again, found := w.Next(ctx, n.N); found {
			t.Errorf("got %+v, want one notice of it", again)
		}
	})
}

func TestMaintenanceNotice(t *testing.T) {
	t.Parallel()
	for what, tt := range map[string]struct {
		hasGPU bool
		lead   time.Duration
	}{"of a machine": {false, time.Minute}, "of a machine with GPUs": {true, time.Hour}} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				l := newLab(t, gcptest.Options{})
				w := watch(t, l, tt.hasGPU)
				pass(10 * time.Second)
				l.world.AnnounceMaintenance(gcptest.Project, zone, name, "MIGRATE_ON_HOST_MAINTENANCE")
				pass(10 * time.Second)
				at := time.Now()
				l.world.AnnounceMaintenance(gcptest.Project, zone, name, terminates)
				n, took := next(t, w, 0)
				if took > time.Second || n.Kind != machine.Interruption || n.At.Sub(at.Add(tt.lead)).Abs() > time.Second || n.Reason != "host maintenance: "+terminates {
					t.Errorf("got %+v after %s, want an interruption in %s, and none of a migration", n, took, tt.lead)
				}
				l.world.AnnounceMaintenance(gcptest.Project, zone, name, "NONE")
				pass(10 * time.Second)
				l.world.AnnounceMaintenance(gcptest.Project, zone, name, terminates)
				if again, _ := next(t, w, n.N); !again.At.After(n.At) {
					t.Errorf("got %+v, want the second one", again)
				}
			})
		})
	}
}

// Notices announced before the program started and during an outage of the metadata server are
// returned.
func TestNoticesBeforeStartAndDuringOutage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := newLab(t, gcptest.Options{})
		l.world.AnnounceMaintenance(gcptest.Project, zone, name, terminates)
		w := watch(t, l, false)
		n, took := next(t, w, 0)
		if took > time.Second {
			t.Errorf("got %+v after %s", n, took)
		}
		l.away.Store(true)
		pass(20 * time.Second)
		l.world.Preempt(gcptest.Project, zone, name)
		l.away.Store(false)
		if n, took = next(t, w, n.N); took > notice.Every+time.Second || n.Reason != "spot preemption" {
			t.Errorf("got %+v after %s", n, took)
		}
	})
}

func TestNoticesThatCanBeReadAreReturnedBesideAnError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := newLab(t, gcptest.Options{})
		l.world.AnnounceMaintenance(gcptest.Project, zone, name, terminates)
		r := gcp.NewNotices(l.server(), false, time.Now)
		first, err := r.Read(t.Context())
		if err != nil || len(first) != 1 {
			t.Fatalf("got %v, %v", first, err)
		}
		l.away.Store(true)
		second, err := r.Read(t.Context())
		if d := cmp.Diff(second, first); d != "" || err == nil {
			t.Errorf("got %v, -; want +:\n%s", err, d)
		}
	})
}
