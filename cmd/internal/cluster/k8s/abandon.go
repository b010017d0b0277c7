package k8s

import (
	"context"
	"errors"
	"time"

	"github.com/det-deploy/det-deploy/cmd/internal/agree"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer"
)

// abandon gives up an upgrade.
func (o *UpgradeOptions) abandon(ctx context.Context) error {
	ask := agree.Asker{Streams: o.Streams, Output: o.Output, Yes: o.Yes}
	k, err := wire.NewK8s(ctx, o.Streams, wire.K8sRequest{Cluster: o.Cluster, At: o.at(o.Streams), Unread: true, Limit: o.Timeout, Sink: ask.Tell()})
	if err != nil {
		return err
	}
	would, err := k.PlanAbandon(ctx)
	if _, none := errors.AsType[*installer.AbsentError](err); none {
		return absent(ctx, k)
	}
	if err != nil {
		return err
	}
	return o.giveUp(ctx, ask, would, abandonment{do: k.Abandon, unpause: func(ctx context.Context) error { return o.unpause(ctx, k) }})
}

// abandonment gives an upgrade up, and lets those tasks start that it has paused.
type abandonment struct {
	do      func(context.Context) (installer.Abandoned, error)
	unpause func(context.Context) error
}

// giveUp does what is still to be done: a run before may have come to its end but for the
// tasks.
func (o *UpgradeOptions) giveUp(ctx context.Context, ask agree.Asker, would installer.Abandoned, a abandonment) error {
	if o.DryRun {
		return ask.PrintAbandon(o.Cluster, would, true)
	}
	done := would
	if would.Changed {
		agreed, err := ask.Abandon(ctx, o.Cluster, would)
		if err != nil || !agreed {
			return err
		}
		if done, err = a.do(ctx); err != nil {
			return err
		}
	}
	if err := a.unpause(ctx); err != nil {
		return err
	}
	return ask.PrintAbandon(o.Cluster, done, false)
}

// unpause lets those tasks start that the upgrade has kept from starting.
func (o *UpgradeOptions) unpause(ctx context.Context, k *wire.K8s) error {
	p := pausing{store: k.Store, tell: o.Notef, limit: o.PauseLimit, every: time.Second}
	noted, _, err := p.noted(ctx)
	if err != nil || len(noted) == 0 {
		return err
	}
	return o.resume(ctx, k, p)
}
