package host

import (
	"context"
	"log/slog"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
)

// DrainLimit is the time for tasks to end. Google powers a VM off 30 seconds after a preemption
// notice, and the services that stop after the agent need some of that time.
const DrainLimit = 25 * time.Second

// drainEvery is the interval at which tasks are counted.
const drainEvery = 200 * time.Millisecond

// Drain delays the shutdown of an agent's machine until its tasks have ended.
type Drain struct {
	// ShuttingDown reports whether the machine is shutting down.
	ShuttingDown func(context.Context) bool
	// Tasks counts the tasks that are running or whose exit is not yet reported to the master.
	Tasks func() (int, error)
	Log   *slog.Logger
}

// Await returns when all tasks have ended or after DrainLimit. It returns at once if the machine is
// not shutting down: then only the agent restarts, and tasks keep running.
func (d Drain) Await(ctx context.Context) error {
	if !d.ShuttingDown(ctx) {
		return nil
	}
	began := time.Now()
	n, err := d.Tasks()
	if n > 0 {
		d.Log.Info("machine is shutting down; waiting for its tasks", "tasks", n)
	}
	for n > 0 && err == nil && time.Since(began) < DrainLimit {
		if wait.For(ctx, drainEvery) != nil {
			break
		}
		n, err = d.Tasks()
	}
	if n > 0 {
		d.Log.Warn("machine shuts down with running tasks", "tasks", n, "took", time.Since(began))
	}
	return err
}
