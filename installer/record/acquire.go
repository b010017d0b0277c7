package record

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

// DefaultLasts is how long a lease is valid after its last renewal. It must outlast network
// interruptions of a laptop that should not end an `up`; after a crash, the next operator waits
// this long.
const DefaultLasts = 60 * time.Second

// Request is a request for the lease on a cluster.
type Request struct {
	Cluster string
	Store   Store
	Holder  Holder
	// Dead reports whether a holder is known to have died, so that its lease need not expire first.
	// It may be nil.
	Dead func(Holder) bool
}

// Acquire creates the cluster's store and takes the lease in it. It returns a HeldError if another
// process holds the lease. The lease is renewed in the background until it is released, also after
// ctx is cancelled. The store may still be incomplete when Acquire returns; see Lease.Finished.
func Acquire(ctx context.Context, req Request) (*Lease, error) {
	if req.Holder.Lasts <= 0 {
		req.Holder.Lasts = DefaultLasts
	}
	if err := req.Store.Make(ctx); err != nil {
		return nil, fmt.Errorf("create the store for the record of cluster %s: %w", req.Cluster, err)
	}
	finished := finishPlace(ctx, req)
	start := time.Now()
	version, err := putLease(ctx, req, "") // usually the lease is free
	if cloud.KindOf(err) == cloud.Conflict {
		start = time.Now()
		version, err = takeOver(ctx, req)
	}
	if err != nil {
		<-finished.done
		return nil, err
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	l := &Lease{
		store: req.Store, done: make(chan struct{}), stop: stop,
		holder: req.Holder, version: version, renewed: start, finished: finished,
	}
	go l.keepRenewed(background)
	return l, nil
}

// finishing is the completion of the store, in the background.
type finishing struct {
	done chan struct{}
	err  error // set before done is closed
}

// finishPlace completes a store that implements Finisher, in the background.
func finishPlace(ctx context.Context, req Request) *finishing {
	f := &finishing{done: make(chan struct{})}
	store, more := req.Store.(Finisher)
	if !more {
		close(f.done)
		return f
	}
	go func() {
		defer close(f.done)
		if err := store.Finish(ctx); err != nil {
			f.err = fmt.Errorf("create the store for the record of cluster %s: %w", req.Cluster, err)
		}
	}()
	return f
}

// takeOver replaces an expired lease. It returns a HeldError if another process holds it.
func takeOver(ctx context.Context, req Request) (version string, err error) {
	was, err := freeVersion(ctx, req)
	if err != nil {
		return "", err
	}
	version, err = putLease(ctx, req, was)
	if cloud.KindOf(err) == cloud.Conflict {
		if _, held := freeVersion(ctx, req); held != nil { // another process was faster: report its holder
			return "", held
		}
	}
	return version, err
}

// putLease writes the lease in place of version was.
func putLease(ctx context.Context, req Request, was string) (version string, err error) {
	if version, err = putHolder(ctx, req.Store, req.Holder, was); err != nil {
		return "", fmt.Errorf("take the lease on cluster %s: %w", req.Cluster, err)
	}
	return version, nil
}

// freeVersion returns the version that a new lease replaces, or a HeldError if the lease is held.
func freeVersion(ctx context.Context, req Request) (version string, err error) {
	o, err := req.Store.Get(ctx, LeaseKey)
	if cloud.KindOf(err) == cloud.NotFound {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the lease on cluster %s: %w", req.Cluster, err)
	}
	var h Holder
	if err := json.Unmarshal(o.Data, &h); err != nil {
		// A conditional put never leaves a half-written lease. An unreadable one expires like any
		// other.
		h = Holder{Owner: "unknown", Host: "unknown", Action: "unreadable", Lasts: DefaultLasts}
	}
	since := o.Read.Sub(o.Written)
	if since >= h.Lasts || req.Dead != nil && req.Dead(h) {
		return o.Version, nil
	}
	return "", &HeldError{Cluster: req.Cluster, Holder: h, Since: since}
}
