package server

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/det-deploy/det-deploy/master/api/status"
)

const (
	// budgetWait is how long a body waits for those before it. A context of 96 MB
	// takes some seconds on a local network, and clients do not try again.
	budgetWait = time.Minute
	// unit is what a body of unknown length, or a small one, counts at least.
	unit = 4 << 10
	// copies is what a body costs while it is decoded, beside itself.
	copies = 2
)

// budget bounds the bodies that are read and worked on at a time, over all calls.
type budget struct {
	free *semaphore.Weighted // nil for no limit
	most int64
	wait time.Duration
}

func newBudget(most int64) *budget {
	b := &budget{most: most, wait: budgetWait}
	if most > 0 {
		b.free = semaphore.NewWeighted(most)
	}
	return b
}

// take waits for room for n bytes. The caller gives it back when it has dropped them.
func (b *budget) take(ctx context.Context, n int64) (give func(), err error) {
	if b.free == nil {
		return func() {}, nil
	}
	n = min(max(n*copies, unit), b.most)
	ctx, cancel := context.WithTimeout(ctx, b.wait)
	defer cancel()
	if err := b.free.Acquire(ctx, n); err != nil {
		return nil, status.New(status.Unavailable, "the master is reading as many large requests as it can; try again in some seconds")
	}
	return func() { b.free.Release(n) }, nil
}
