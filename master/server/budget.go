package server

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/server/body"
	"github.com/det-deploy/det-deploy/master/share"
)

const (
	// budgetWait is how long a body waits for those before it. A context of 96 MB
	// takes some seconds on a local network, and clients do not try again.
	budgetWait = time.Minute
	// unit is what a body of unknown length, or a small one, counts at least.
	unit = 4 << 10
	// keptFree is what bodies leave free, in bytes, of the disk that the database may be on.
	keptFree = 256 << 20
	// copies is what a body costs while it is decoded, beside itself.
	copies = 2
	// valueBytes is what a value takes that was a few bytes of a body, and fewValues
	// are so many that they are not counted: people write some hundreds.
	valueBytes = 128
	fewValues  = 2000
	// valuesMost is what the others may take at a time, in bytes.
	valuesMost = 64 << 20
	// decodings is how many large bodies are decoded, packed and stored at a time.
	// Each takes some 20 MB, and a core.
	decodings = 2
	// strangersMost is how many bodies of those who are not known yet arrive or are worked on
	// at a time, at 16 KB each: one of a login over each connection that may be open by default.
	strangersMost = 2048
	// strangersEach is how many of them may be of one address.
	strangersEach = 256
	// largeEach is how many large bodies of one user arrive or wait at a time.
	largeEach = 8
)

// room is what bodies may take, over all calls. Small bodies have a budget of their
// own: they do not wait behind large ones. Neither do users wait behind strangers.
type room struct {
	bodies    *budget       // bytes in memory
	strangers *share.Places // small bodies of those who are not known
	values    *budget       // what they become
	spooled   *budget       // bytes in files
	decoding  *budget       // large bodies
	uploads   *waits        // large bodies of one user
	place     body.Place
}

func newRoom(l Limits, dir string) *room {
	inMemory := func(n int64) int64 { return max(n*copies, unit) }
	return &room{
		bodies:    newBudget(l.Bodies, inMemory),
		strangers: share.NewPlaces(share.Limits{Most: strangersMost, Each: strangersEach}),
		values:    newBudget(valuesMost, func(n int64) int64 { return n * valueBytes }),
		spooled:   newBudget(l.Spooled, itself), decoding: newBudget(decodings, itself), uploads: newWaits(largeEach),
		place: body.Place{Dir: dir, Keep: keptFree},
	}
}

// budget bounds what is under way at a time.
type budget struct {
	free *semaphore.Weighted // nil for no limit
	most int64
	cost func(n int64) int64
	wait time.Duration
}

func itself(n int64) int64 { return n }

func newBudget(most int64, cost func(n int64) int64) *budget {
	b := &budget{most: most, cost: cost, wait: budgetWait}
	if most > 0 {
		b.free = semaphore.NewWeighted(most)
	}
	return b
}

// takeRoom waits for room for n of what is counted. The caller gives it back.
func (b *budget) takeRoom(ctx context.Context, n int64) (give func(), err error) {
	if b.free == nil {
		return func() {}, nil
	}
	n = min(b.cost(n), b.most)
	ctx, cancel := context.WithTimeout(ctx, b.wait)
	defer cancel()
	if err := b.free.Acquire(ctx, n); err != nil {
		return nil, status.New(status.Unavailable, "the master is reading as many large requests as it can; try again in some seconds")
	}
	return func() { b.free.Release(n) }, nil
}
