package guard

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/server/body"
	"github.com/det-deploy/det-deploy/master/share"
)

// What bodies cost.
const (
	// Copies is what a body costs while it is decoded, beside itself.
	Copies = 2
	// FewValues are so many values of a body that they are not counted: people write some hundreds.
	FewValues = 2000
	// ValueBytes is what a value takes that was a few bytes of a body.
	ValueBytes = 128
	// MostValueBytes is what values may take at a time, over all bodies.
	MostValueBytes = 64 << 20
	// Decodings is how many large bodies are decoded, packed and stored at a time.
	// Each takes some 20 MB, and a core.
	Decodings = 2
	// LargeEach is how many large bodies of one user arrive or wait at a time.
	LargeEach = 8
)

const (
	// budgetWait is how long a body waits for those before it. A context of 96 MB
	// takes some seconds on a local network, and clients do not try again.
	budgetWait = time.Minute
	// unit is what a body of unknown length, or a small one, counts at least.
	unit = 4 << 10
	// keptFree is what bodies leave free, in bytes, of the disk that the database may be on.
	keptFree = 256 << 20
	// strangersMost is how many bodies of those who are not known yet arrive or are worked on
	// at a time, at 16 KB each: one of a login over each connection that may be open by default.
	strangersMost = 2048
	// strangersEach is how many of them may be of one address.
	strangersEach = 256
)

// Room is what bodies may take, over all calls. Small bodies have a budget of their
// own: they do not wait behind large ones. Neither do users wait behind strangers.
type Room struct {
	Bodies    *Budget       // bytes in memory
	Strangers *share.Places // small bodies of those who are not known
	Values    *Budget       // what they become
	Spooled   *Budget       // bytes in files
	Decoding  *Budget       // large bodies
	Uploads   *Waits        // large bodies of one user
	Place     body.Place
}

// NewRoom bounds the bytes of bodies in memory and of those in files, which are in dir.
func NewRoom(bodies, spooled int64, dir string) *Room {
	inMemory := func(n int64) int64 { return max(n*Copies, unit) }
	return &Room{
		Bodies:    newBudget(bodies, inMemory),
		Strangers: share.NewPlaces(share.Limits{Most: strangersMost, Each: strangersEach}),
		Values:    newBudget(MostValueBytes, func(n int64) int64 { return n * ValueBytes }),
		Spooled:   newBudget(spooled, itself), Decoding: newBudget(Decodings, itself), Uploads: NewWaits(LargeEach),
		Place: body.Place{Dir: dir, Keep: keptFree},
	}
}

// Budget bounds what is under way at a time.
type Budget struct {
	free *semaphore.Weighted // nil for no limit
	most int64
	cost func(n int64) int64
	// Wait is how long one waits for those before it.
	Wait time.Duration
}

func itself(n int64) int64 { return n }

func newBudget(most int64, cost func(n int64) int64) *Budget {
	b := &Budget{most: most, cost: cost, Wait: budgetWait}
	if most > 0 {
		b.free = semaphore.NewWeighted(most)
	}
	return b
}

// Take waits for room for n of what is counted. The caller gives it back.
func (b *Budget) Take(ctx context.Context, n int64) (give func(), err error) {
	if b.free == nil {
		return func() {}, nil
	}
	n = min(b.cost(n), b.most)
	ctx, cancel := context.WithTimeout(ctx, b.Wait)
	defer cancel()
	if err := b.free.Acquire(ctx, n); err != nil {
		return nil, status.New(status.Unavailable, "the master is reading as many large requests as it can; try again in some seconds")
	}
	return func() { b.free.Release(n) }, nil
}
