package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

// ErrLost means that the lease is no longer ours: another process may be changing
// the cluster, so nothing more may be changed.
var ErrLost = errors.New("the lease on the cluster was lost")

// Holder is who holds a lease. It is shown to users who wait for it.
type Holder struct {
	// Owner is the person, as the machine names them.
	Owner string `json:"owner"`
	Host  string `json:"host"`
	// Process identifies the holder's process on its host.
	Process string `json:"process,omitempty"`
	// Action is what it was last known to do: "up: local/process/master".
	Action string `json:"action"`
	// Nonce distinguishes two leases of one process.
	Nonce string `json:"nonce"`
	// Lasts is how long the lease outlives its last renewal.
	Lasts time.Duration `json:"lasts"`
}

// HeldError refuses a lease that another process holds.
type HeldError struct {
	Cluster string
	Holder  Holder
	// Since is the time since it was last renewed, by the store's clock.
	Since time.Duration
}

// Error names the holder and what they do.
func (e *HeldError) Error() string {
	return fmt.Sprintf("cluster %s is being worked on by %s on %s (%s, last sign of life %s ago)",
		e.Cluster, e.Holder.Owner, e.Holder.Host, e.Holder.Action, e.Since.Round(time.Second))
}

// Hint says when it is worth trying again.
func (e *HeldError) Hint() string {
	return fmt.Sprintf("wait for it to finish, then run the command again; if it is dead, its lease expires in %s",
		max(e.Holder.Lasts-e.Since, 0).Round(time.Second))
}

// Lease is the right to change one cluster, renewed until it is released.
type Lease struct {
	store Store
	done  chan struct{} // closed when the renewing goroutine has ended
	stop  context.CancelFunc
	// finished is the place's.
	finished *finishing

	mu      sync.Mutex // guards what follows
	holder  Holder
	version string
	renewed time.Time // before the request that renewed it: the store's moment is later
	lost    error
}

// Check returns ErrLost when the lease is no longer ours or may not be, because
// it could not be renewed in time.
func (l *Lease) Check(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost != nil {
		return l.lost
	}
	if since := time.Since(l.renewed); since >= l.holder.Lasts {
		return fmt.Errorf("%w: it was not renewed for %s", ErrLost, since.Round(time.Second))
	}
	return nil
}

// Finished returns when the place of the cluster's record is as it should be, or why it is
// not. Until then only the lease is in it.
func (l *Lease) Finished() error {
	<-l.finished.done
	return l.finished.err
}

// Note sets the current action, for users who wait for the lease. It reaches the
// store with the next renewal.
func (l *Lease) Note(action string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holder.Action = action
}

// Release gives the lease back and ends its renewal. It may be repeated.
func (l *Lease) Release(ctx context.Context) error {
	l.Stop()
	l.mu.Lock()
	version := l.version
	if l.lost != nil {
		version = "" // another process's to release
	}
	l.version = ""
	l.mu.Unlock()
	if version == "" {
		return nil
	}
	err := l.store.Delete(ctx, LeaseKey, version)
	if cloud.KindOf(err) == cloud.Conflict {
		err = l.releaseRenewed(ctx)
	}
	if err != nil {
		return fmt.Errorf("release the lease: %w", err)
	}
	return nil
}

// releaseRenewed gives back a lease of ours that has another version than we know: the
// renewal that was under way at the end may have reached the store. Another process's
// is left alone.
func (l *Lease) releaseRenewed(ctx context.Context) error {
	o, err := l.store.Get(ctx, LeaseKey)
	if cloud.KindOf(err) == cloud.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	var h Holder
	if json.Unmarshal(o.Data, &h) != nil || h.Owner != l.holder.Owner || h.Host != l.holder.Host || h.Process != l.holder.Process || h.Nonce != l.holder.Nonce {
		return nil //nolint:nilerr // what cannot be read is not ours
	}
	if err := l.store.Delete(ctx, LeaseKey, o.Version); err != nil && cloud.KindOf(err) != cloud.Conflict {
		return err
	}
	return nil
}

// Stop ends the renewal and waits for it, and leaves the lease where it is: its
// place is about to be destroyed, or is to expire. It may be repeated.
func (l *Lease) Stop() {
	l.stop()
	<-l.done
	<-l.finished.done
}

// keepRenewed renews the lease three times in its life, so that two renewals may fail.
func (l *Lease) keepRenewed(ctx context.Context) {
	defer close(l.done)
	tick := time.NewTicker(l.holder.Lasts / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !l.renewLease(ctx) {
			return
		}
	}
}

// renewLease reports whether another renewal is worth trying.
func (l *Lease) renewLease(ctx context.Context) bool {
	l.mu.Lock()
	holder, was := l.holder, l.version
	l.mu.Unlock()
	start := time.Now()
	version, err := putHolder(ctx, l.store, holder, was)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.version, l.renewed = version, start
	case cloud.KindOf(err) == cloud.Conflict || cloud.KindOf(err) == cloud.NotFound:
		// A renewal whose reply was lost looks like another process's. Giving up
		// is right for both: the next run finds its own lease expired.
		l.lost = fmt.Errorf("%w: %w", ErrLost, err)
		return false
	}
	return true // another error is met again by Check, when time is up
}

func putHolder(ctx context.Context, s Store, h Holder, was string) (string, error) {
	b, err := json.Marshal(h)
	if err != nil {
		return "", fmt.Errorf("write the lease: %w", err)
	}
	return s.Put(ctx, LeaseKey, b, was)
}
