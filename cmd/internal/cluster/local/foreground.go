package local

import (
	"context"
	"errors"
	"log/slog"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/installer/target/local/supervise"
)

// upInForeground supervises the cluster in this process until it is interrupted. It plans again because
// the running supervisor changes the plan. The data remains for the next up.
func (c *opened) upInForeground(ctx context.Context) error {
	d := c.Target.Place.Processes()
	if _, alive := d.Holder(); alive {
		return usage.Errorf("--foreground: cluster %s runs in the background; stop it with `det-deploy local down%s`, or omit the flag", c.ID(), idFlag(c.ID()))
	}
	c.KeepLines() // the supervisor writes its log to the same terminal
	ctx, c.stop = context.WithCancel(ctx)
	stopped := make(chan error, 1)
	c.stopped = stopped
	go func() {
		stopped <- supervise.Run(ctx, supervise.Config{Dir: d, Program: c.Target.Program, Log: slog.New(slog.NewTextHandler(c.Err, nil))})
	}()
	if err := c.upSupervised(ctx); err != nil {
		c.stop()
		return errors.Join(err, <-c.stopped)
	}
	return nil
}

func (c *opened) upSupervised(ctx context.Context) error {
	if !c.Target.Supervised(ctx) {
		return errors.New("cannot start the supervisor: it did not come up")
	}
	p, err := c.Plan(ctx)
	if err != nil {
		return err
	}
	return c.Local.Up(ctx, p)
}

// Stay waits until the supervisor in this process ends. If err, the error of up, is not nil, it stops the
// supervisor.
func (c *opened) Stay(err error) error {
	if c.stop == nil {
		return err
	}
	defer c.stop()
	if err != nil {
		c.stop()
		return errors.Join(err, <-c.stopped)
	}
	c.Notef("Press Ctrl-C to stop the cluster.")
	return <-c.stopped
}
