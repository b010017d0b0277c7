package host

import (
	"context"
	"log/slog"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
)

// DrainLimit is how long tasks have. Google powers a machine off 30 seconds after it has
// announced a preemption, and what stops after the agent needs some of them.
const DrainLimit = 25 * time.Second

// drainEvery is how often tasks are counted.
const drainEvery = 200 * time.Millisecond

// Drain holds up the shutdown of an agent's machine until its tasks have ended.
type Drain struct {
	// ShuttingDown reports whether the machine is on its way down.
	ShuttingDown func(context.Context) bool
	// Tasks counts those that have not ended, or whose end the master does not know yet.
	Tasks func() (int, error)
	Log   *slog.Logger
}

// Await returns when there are no tasks, when they had their time, or at once on a machine
// that stays up: its agent is restarted, and tasks go on.
func (d Drain) Await(ctx context.Context) error {
	if !d.ShuttingDown(ctx) {
		return nil
	}
	began := time.Now()
	n, err := d.Tasks()
	if n > 0 {
		d.Log.Info("this machine shuts down, waiting for its tasks", "tasks", n)
	}
	for n > 0 && err == nil && time.Since(began) < DrainLimit {
		if wait.For(ctx, drainEvery) != nil {
			break
		}
		n, err = d.Tasks()
	}
	if n > 0 {
		d.Log.Warn("tasks end with their machine", "tasks", n, "took", time.Since(began))
	}
	return err
}
