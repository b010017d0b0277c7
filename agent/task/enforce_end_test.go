package task

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/disk"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// unreachable is a runtime whose containers have no process yet that could receive SIGTERM.
type unreachable struct {
	container.Runtime

	killed chan time.Time
}

func (r unreachable) Signal(ctx context.Context, _ string, s container.Signal) error {
	if s == container.Terminate {
		<-ctx.Done()
		return ctx.Err()
	}
	r.killed <- time.Now()
	return nil
}

func TestContainerIgnoringSIGTERMIsKilled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		end  func(*Task)
		want time.Duration
	}{
		{"when its time is over", func(u *Task) { u.RequestEnd(true, time.Minute) }, time.Minute},
		{"at once, by a kill after that", func(u *Task) {
			u.RequestEnd(true, -1)
			synctest.Wait()
			u.RequestEnd(false, 0)
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := disk.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			order := &agentv1.Start{ContainerId: "c", AllocationId: "a"}
			entry, _, err := d.Add(order)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				r := unreachable{killed: make(chan time.Time, 1)}
				u, err := Open(Config{Runtime: r, Log: slog.New(slog.DiscardHandler)}, entry, order, true)
				if err != nil {
					t.Fatal(err)
				}
				stop := u.beginEnforcing(t.Context())
				defer stop()
				began := time.Now()
				c.end(u)
				if got := (<-r.killed).Sub(began); got != c.want {
					t.Errorf("got SIGKILL after %s, want %s", got, c.want)
				}
			})
		})
	}
}
