package task

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

const (
	// patience is the time after which a wait is shown: most tasks start earlier.
	patience = time.Second
	// askEvery is the interval at which the master is asked for the reason of a wait.
	askEvery = 2 * time.Second
)

// waitView shows on one line why a task does not run yet, until it runs or the view ends.
type waitView struct {
	line *term.LiveLine
	stop context.CancelFunc
	done chan struct{}

	mu    sync.Mutex // guards ended, and orders the line and other output
	ended bool
}

// showWait begins to show why a task waits.
func (o *attended) showWait(ctx context.Context, master *client.Client, c *apiv1.Command) *waitView {
	ctx, cancel := context.WithCancel(ctx)
	w := &waitView{line: o.NewLiveLine(), stop: cancel, done: make(chan struct{}), ended: o.Quiet}
	go func() {
		defer close(w.done)
		if !o.Quiet {
			w.run(ctx, master, c.GetId())
		}
	}()
	return w
}

// end erases the line. It may be called again.
func (w *waitView) end() {
	w.stop()
	<-w.done
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.line.Clear()
	}
	w.ended = true
}

// interrupt prints something above the line, and passes whether the line lives on a terminal.
func (w *waitView) interrupt(print func(lives bool)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.line.Clear()
	print(w.line.Lives())
}

// run shows the wait until the task runs or ctx ends.
func (w *waitView) run(ctx context.Context, master *client.Client, id string) {
	began := time.Now()
	tick := time.NewTicker(patience)
	defer tick.Stop()
	var now wait
	var asked time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if time.Since(asked) >= askEvery {
			asked = time.Now()
			if next, err := askWait(ctx, master, id, w.line.Lives()); err == nil {
				now = next
			}
		}
		if now.over {
			w.interrupt(func(bool) {})
			return
		}
		w.show(now, time.Since(began))
	}
}

func (w *waitView) show(now wait, elapsed time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if text := now.text(); text != "" && !w.ended {
		w.line.Set(text, now.detail(elapsed))
	}
}

// wait is why a task does not run yet.
type wait struct {
	state  apiv1.Task_State
	reason string
	// place is the place in the queue, from 1, of queued jobs; 0 if unknown.
	place, queued int
	// over is set when the task runs or has ended.
	over bool
}

// askWait asks the master for the wait of a task, and for its place in the queue.
func askWait(ctx context.Context, master *client.Client, id string, withPlace bool) (wait, error) {
	reply, err := master.Command(ctx, id)
	if err != nil {
		return wait{}, err
	}
	c := reply.GetCommand()
	w := wait{state: c.GetState(), reason: c.GetReason()}
	switch c.GetState() {
	case apiv1.Task_STATE_QUEUED:
		if withPlace {
			w.place, w.queued, _ = master.Place(ctx, c.GetResourcePool(), c.GetJobId()) // the reason is enough
		}
	case apiv1.Task_STATE_PULLING, apiv1.Task_STATE_STARTING:
	default:
		w.over = true
	}
	return w, nil
}

// text describes the wait. It changes with its kind only.
func (w wait) text() string {
	switch {
	case w.over || w.state == apiv1.Task_STATE_UNSPECIFIED:
		return ""
	case w.state == apiv1.Task_STATE_PULLING:
		return "Pulling the image"
	case w.state == apiv1.Task_STATE_STARTING:
		return "Starting"
	case w.reason != "":
		return "Waiting: " + w.reason
	}
	return "Waiting"
}

// detail returns the place in the queue and the time since the launch.
func (w wait) detail(elapsed time.Duration) string {
	passed := elapsed.Truncate(time.Second).String()
	switch {
	case w.state != apiv1.Task_STATE_QUEUED || w.queued == 0:
		return passed
	case w.place > 0:
		return fmt.Sprintf("%d of %d in the queue, %s", w.place, w.queued, passed)
	}
	return fmt.Sprintf("%d in the queue, %s", w.queued, passed)
}
