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

// ErrLost reports that this process no longer holds the lease. Another process may be changing the
// cluster, so nothing more may be changed.
var ErrLost = errors.New("the lease on the cluster was lost")

// Holder describes the process that holds a lease, for users who wait for it.
type Holder struct {
	// Owner is the name of the user on their computer.
	Owner string `json:"owner"`
	Host  string `json:"host"`
	// Process identifies the holder's process on its host.
	Process string `json:"process,omitempty"`
	// Action is its last known action, such as "up: local/process/master".
	Action string `json:"action"`
	// Nonce distinguishes two leases of one process.
	Nonce string `json:"nonce"`
	// Lasts is how long the lease is valid after its last renewal.
	Lasts time.Duration `json:"lasts"`
}

// HeldError reports that another process holds the lease.
type HeldError struct {
	Cluster string
	Holder  Holder
	// Since is the time since the last renewal, by the store's clock.
	Since time.Duration
}

// Error names the holder and its action.
func (e *HeldError) Error() string {
	return fmt.Sprintf("cluster %s is locked by %s on %s (%s, last renewed %s ago)",
		e.Cluster, e.Holder.Owner, e.Holder.Host, e.Holder.Action, e.Since.Round(time.Second))
}

// Hint names the time when the lease expires.
func (e *HeldError) Hint() string {
	return fmt.Sprintf("wait for it to finish, then run the command again; if it is dead, its lease expires in %s",
		max(e.Holder.Lasts-e.Since, 0).Round(time.Second))
}

// Lease is the right to change one cluster. It is renewed until it is released.
type Lease struct {
	store Store
	done  chan struct{} // closed when the renewing goroutine has ended
	stop  context.CancelFunc
	// finished completes the store in the background.
	finished *finishing

	mu      sync.Mutex // guards the following fields
	holder  Holder
	version string
	renewed time.Time // set before the request of the last renewal, so earlier than the store's time
	lost    error
}

// Check returns ErrLost if the lease was lost, or may have been because it could not be renewed in
// time.
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

// Finished waits until the store of the record is complete, and returns an error if completing it
// failed. Until then, the store holds only the lease.
func (l *Lease) Finished() error {
	<-l.finished.done
	return l.finished.err
}

// Note sets the current action, for users who wait for the lease. The next renewal stores it.
func (l *Lease) Note(action string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holder.Action = action
}

// Release stops the renewal and deletes the lease. It may be repeated.
func (l *Lease) Release(ctx context.Context) error {
	l.Stop()
	l.mu.Lock()
	version := l.version
	if l.lost != nil {
		version = "" // it belongs to another process
	}
	l.version = ""
	l.mu.Unlock()
	if version == "" {
		return nil
	}
	err := l.store.Delete(ctx, LeaseKey, version)
	for range doubtful {
		if kind := cloud.KindOf(err); kind != cloud.Conflict && kind != cloud.Ambiguous {
			break
		}
		err = l.releaseRenewed(ctx)
	}
	if err != nil {
		return fmt.Errorf("release the lease: %w", err)
	}
	return nil
}

// releaseRenewed deletes a lease of this process whose version is unknown because a renewal in
// progress has reached the store, or that may be deleted already. It leaves a lease of another process
// alone.
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
		return nil //nolint:nilerr // an unreadable lease belongs to another program
	}
	if err := l.store.Delete(ctx, LeaseKey, o.Version); err != nil && cloud.KindOf(err) != cloud.Conflict {
		return err
	}
	return nil
}

// Stop stops the renewal and waits for it to end. It leaves the lease in place, to expire or to be
// deleted with its store. It may be repeated.
func (l *Lease) Stop() {
	l.stop()
	<-l.done
	<-l.finished.done
}

// keepRenewed renews the lease three times per lifetime, so that two renewals may fail.
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

// renewLease renews the lease once. It returns false if another attempt is pointless.
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
		l.lost = fmt.Errorf("%w: %w", ErrLost, err)
		return false
	}
	return true // Check reports other errors when the lease has expired
}

func putHolder(ctx context.Context, s Store, h Holder, was string) (string, error) {
	b, err := json.Marshal(h)
	if err != nil {
		return "", fmt.Errorf("write the lease: %w", err)
	}
	return put(ctx, s, LeaseKey, b, was)
}
