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
	if o.DryRun || !would.Changed {
		return ask.PrintAbandon(o.Cluster, would, o.DryRun)
	}
	if agreed, err := ask.Abandon(ctx, o.Cluster, would); err != nil || !agreed {
		return err
	}
	done, err := k.Abandon(ctx)
	if err != nil {
		return err
	}
	if err := o.unpause(ctx, k); err != nil {
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
