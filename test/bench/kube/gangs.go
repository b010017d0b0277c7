package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/det-deploy/det-deploy/k8s/podspec"
)

// runGangs is a resource manager of its own for one turn.
func runGangs(ctx context.Context, c *caller, s size) (side, func() error, error) {
	b := &bench{size: s, out: io.Discard, client: c, owner: newOwner()}
	if err := b.look(ctx); err != nil {
		return nil, nil, err
	}
	if b.fit < s.gangs {
		return nil, nil, fmt.Errorf("the cluster has room for %d of %d gangs: give it more nodes", b.fit, s.gangs)
	}
	stop, err := b.start(ctx)
	if err != nil {
		return nil, nil, err
	}
	return b.lifeOfTurn, stop, nil
}

// lifeOfTurn submits the gangs, waits until all run whole, and kills them.
func (b *bench) lifeOfTurn(ctx context.Context) (run, remove time.Duration, err error) {
	began := time.Now()
	ids, err := b.submit(ctx)
	if err != nil {
		return 0, 0, err
	}
	if err := awaitSo(ctx, func(context.Context) (bool, error) { return b.owner.running(b.pods) == b.gangs, nil }); err != nil {
		return 0, 0, fmt.Errorf("%w; %d run whole", err, b.owner.running(b.pods))
	}
	run = time.Since(began)
	if err := b.whole(ctx, b.gangs); err != nil {
		return 0, 0, err
	}
	began = time.Now()
	for _, id := range ids {
		if err := b.kill(ctx, id, "that is all"); err != nil {
			return 0, 0, err
		}
	}
	err = awaitSo(ctx, func(ctx context.Context) (bool, error) {
		if b.owner.over() < b.gangs {
			return false, nil
		}
		return b.client.isEmpty(ctx, podspec.LabelTask)
	})
	return run, time.Since(began), err
}
