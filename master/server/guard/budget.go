package guard

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/server/body"
	"github.com/det-deploy/det-deploy/master/share"
)

// The costs of request bodies.
const (
	// Copies is the additional memory of a body while it is decoded, as a multiple of its size.
	Copies = 2
	// FewValues is the number of values up to which a body does not count toward the limit. Bodies written
	// by people have some hundreds.
	FewValues = 2000
	// ValueBytes is the memory of a decoded value, which may be a few bytes in the body.
	ValueBytes = 128
	// MostValueBytes is the maximum memory of values over all bodies.
	MostValueBytes = 64 << 20
	// Decodings is the number of large bodies that are decoded, packed and stored concurrently. Each takes
	// about 20 MB and one core.
	Decodings = 2
	// LargeEach is the number of large bodies per user that may arrive or wait concurrently.
	LargeEach = 8
)

const (
	// budgetWait is the maximum time that a body waits for earlier ones. A context of 96 MB takes some
	// seconds on a local network, and clients do not retry.
	budgetWait = time.Minute
	// unit is the minimum size at which a body counts.
	unit = 4 << 10
	// keptFree is the disk space in bytes that bodies leave free, because the database may be on the same
	// disk.
	keptFree = 256 << 20
	// strangersMost is the maximum number of bodies from unauthenticated clients, each of up to 16 KB. It
	// allows one login on each connection permitted by default.
	strangersMost = 2048
	// strangersEach is the maximum number of these per address.
	strangersEach = 256
)

// Room limits the resources of bodies over all calls. Small bodies have their own budget, so that they do
// not wait for large ones, and unauthenticated clients theirs, so that users do not wait for them.
type Room struct {
	Bodies    *Budget       // bytes in memory
	Strangers *share.Places // small bodies of unauthenticated clients
	Values    *Budget       // memory of decoded values
	Spooled   *Budget       // bytes in files
	Decoding  *Budget       // large bodies being decoded
	Uploads   *Waits        // large bodies per user
	Place     body.Place
}

// NewRoom limits the bytes of bodies in memory and in files, which are stored in dir.
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

// Budget limits a resource.
type Budget struct {
	free *semaphore.Weighted // nil for no limit
	most int64
	cost func(n int64) int64
	// Wait is the maximum time to wait for the resource.
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

// Take waits for the resources of n units. The caller must call give to release them. It returns
// Unavailable after b.Wait.
func (b *Budget) Take(ctx context.Context, n int64) (give func(), err error) {
	if b.free == nil {
		return func() {}, nil
	}
	n = min(b.cost(n), b.most)
	ctx, cancel := context.WithTimeout(ctx, b.Wait)
	defer cancel()
	if err := b.free.Acquire(ctx, n); err != nil {
		return nil, status.New(status.Unavailable, "the master is processing the maximum number of large requests; try again in some seconds")
	}
	return func() { b.free.Release(n) }, nil
}
