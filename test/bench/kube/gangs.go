package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/det-deploy/det-deploy/k8s/podspec"
)

// runGangs starts a separate resource manager for one turn.
func runGangs(ctx context.Context, c *caller, s size) (side, func() error, error) {
	b := &bench{size: s, out: io.Discard, client: c, owner: newOwner()}
	if err := b.look(ctx); err != nil {
		return side{}, nil, err
	}
	if b.fit < s.gangs {
		return side{}, nil, fmt.Errorf("the cluster has room for %d of %d gangs: give it more nodes", b.fit, s.gangs)
	}
	stop, err := b.start(ctx)
	if err != nil {
		return side{}, nil, err
	}
	return side{b.runTurn, b.removeTurn}, stop, nil
}

// runTurn submits the gangs and waits until all pods of each run.
func (b *bench) runTurn(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	var err error
	if b.ids, err = b.submit(ctx); err != nil {
		return 0, err
	}
	if err := awaitSo(ctx, func(context.Context) (bool, error) { return b.owner.running(b.pods) == b.gangs, nil }); err != nil {
		return 0, fmt.Errorf("%w; %d run whole", err, b.owner.running(b.pods))
	}
	return time.Since(began), nil
}

// removeTurn kills the gangs.
func (b *bench) removeTurn(ctx context.Context) (time.Duration, error) {
	if err := b.whole(ctx, b.gangs); err != nil {
		return 0, err
	}
	began := time.Now()
	for _, id := range b.ids {
		if err := b.kill(ctx, id, "that is all"); err != nil {
			return 0, err
		}
	}
	err := awaitSo(ctx, func(ctx context.Context) (bool, error) {
		if b.owner.over() < b.gangs {
			return false, nil
		}
		return b.client.isEmpty(ctx, podspec.LabelTask)
	})
	return time.Since(began), err
}
