package record

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Book is the record while its lease is held. It is safe for concurrent use.
type Book struct {
	store Store
	lease *Lease

	mu      sync.Mutex // guards the following fields and serializes writes
	record  Record
	stored  string // the record as last read or written
	version string
}

// Open reads the record under lease. A cluster without a record starts with blank.
func Open(ctx context.Context, s Store, l *Lease, blank Record) (*Book, error) {
	r, version, found, err := Read(ctx, s)
	if err != nil {
		return nil, err
	}
	if !found {
		r = blank
		r.Schema = Schema
	}
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("read the cluster's record: %w", err)
	}
	return &Book{store: s, lease: l, record: r, stored: string(data), version: version}, nil
}

// Record returns a copy of the record.
func (b *Book) Record() Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.record.cloneRecord()
}

// Note applies edit to the record. The change is stored with the next write.
func (b *Book) Note(edit func(*Record)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	edit(&b.record)
}

// Change applies edit to the record, and writes it if it differs from the stored one, including
// noted changes.
func (b *Book) Change(ctx context.Context, edit func(*Record)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lease == nil {
		return errNoRecord
	}
	next := b.record.cloneRecord()
	edit(&next)
	data, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("write the cluster's record: %w", err)
	}
	if string(data) == b.stored {
		return nil
	}
	if err := errors.Join(b.lease.Finished(), b.lease.Check(ctx)); err != nil {
		return fmt.Errorf("write the cluster's record: %w", err)
	}
	version, err := put(ctx, b.store, Key, data, b.version)
	if err != nil {
		return fmt.Errorf("write the cluster's record: %w", err)
	}
	b.record, b.stored, b.version = next, string(data), version
	return nil
}

// Intend returns an intent for each resource, with a new nonce for those that have none. It stores
// all new ones in one write before it returns.
func (b *Book) Intend(ctx context.Context, ids ...string) (map[string]resource.Intent, error) {
	out := make(map[string]resource.Intent, len(ids))
	err := b.Change(ctx, func(r *Record) {
		for _, id := range ids {
			old, tried := r.Intents[id]
			if !tried {
				old = Intent{Nonce: newNonce()}
				r.Intents[id] = old
			}
			out[id] = resource.Intent{Nonce: old.Nonce, Tried: tried, Made: old.Made}
		}
	})
	return out, err
}

// Renew replaces the intents of ids with new ones.
func (b *Book) Renew(ctx context.Context, ids ...string) (map[string]resource.Intent, error) {
	out := make(map[string]resource.Intent, len(ids))
	err := b.Change(ctx, func(r *Record) {
		for _, id := range ids {
			r.Intents[id] = Intent{Nonce: newNonce()}
			out[id] = resource.Intent{Nonce: r.Intents[id].Nonce}
		}
	})
	return out, err
}

// Settle marks intents as made. It ignores IDs without an intent.
func (b *Book) Settle(ctx context.Context, ids ...string) error {
	return b.Change(ctx, func(r *Record) {
		for _, id := range ids {
			if in, ok := r.Intents[id]; ok {
				in.Made = true
				r.Intents[id] = in
			}
		}
	})
}

// Forget deletes intents whose call had no effect or whose object was deleted.
func (b *Book) Forget(ctx context.Context, ids ...string) error {
	return b.Change(ctx, func(r *Record) {
		for _, id := range ids {
			delete(r.Intents, id)
		}
	})
}

func (r Record) cloneRecord() Record {
	r.Settings = maps.Clone(r.Settings)
	r.Intents = maps.Clone(r.Intents)
	if r.Intents == nil {
		r.Intents = make(map[string]Intent)
	}
	r.Release, r.Answered, r.Upgrade = r.Release.cloneRelease(), r.Answered.cloneRelease(), r.Upgrade.cloneUpgrade()
	return r
}

// newNonce returns 26 random letters and digits, which every platform accepts in a tag, a label and
// a token.
func newNonce() string { return rand.Text() }
