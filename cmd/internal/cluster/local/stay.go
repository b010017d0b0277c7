package local

import (
	"context"
	"errors"
	"log/slog"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer/target/local/supervise"
)

// stay supervises the cluster in this process until it is interrupted, and then
// stops the cluster; its data stays for the next up.
func (o *upOptions) stay(ctx context.Context, l *wire.Local) error {
	d := l.Target.Place.Processes()
	if _, alive := d.Holder(); alive {
		return usage.Errorf("--foreground: cluster %s runs in the background; stop it with `det-deploy local down%s`, or leave the flag out", o.Cluster, o.flag())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- supervise.Run(ctx, supervise.Config{Dir: d, Program: l.Target.Program, Log: slog.New(slog.NewTextHandler(o.Err, nil))})
	}()
	err := o.raise(ctx, l)
	if err != nil {
		cancel()
		return errors.Join(err, <-ended)
	}
	o.Notef("Ctrl-C stops the cluster.")
	return <-ended
}

// raise plans again, now that the supervisor is there, and applies.
func (o *upOptions) raise(ctx context.Context, l *wire.Local) error {
	if !l.Target.Supervised(ctx) {
		return errors.New("start the supervisor: it does not come up")
	}
	p, err := l.Plan(ctx)
	if err != nil {
		return err
	}
	if err := l.Up(ctx, p); err != nil {
		return err
	}
	return o.finish(ctx, l)
}
