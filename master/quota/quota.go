// Package quota limits the bytes that each user stores in the master's database.
package quota

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/master/store"
)

// Kind is a kind of stored data.
type Kind string

// The kinds, as they are stored.
const (
	// Contexts are the files of tasks, as long as the tasks are listed.
	Contexts Kind = "contexts"
	// Definitions are the model definitions of experiments.
	Definitions Kind = "definitions"
	// Logs are the lines of tasks and trials, compressed.
	Logs Kind = "logs"
	// Metrics are the reports of trials.
	Metrics Kind = "metrics"
)

// User is the owner of stored data. Data of the zero User is not counted.
type User struct {
	ID   int32
	Name string
}

// Quota counts the bytes that each user has stored. It is safe for concurrent use. A nil Quota
// counts nothing and has no limit.
type Quota struct {
	store *store.Store
	limit int64

	mu sync.RWMutex // guards of
	of map[int32]map[Kind]int64
}

// Open reads the sums from the store, which must be leased. Limit is in bytes; 0 means no limit.
func Open(ctx context.Context, s *store.Store, limit int64) (*Quota, error) {
	all, err := store.AllUserBytes(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("open the quota of users: %w", err)
	}
	q := &Quota{store: s, limit: limit, of: map[int32]map[Kind]int64{}}
	for _, b := range all {
		q.note(b.UserID, Kind(b.Kind), b.Bytes)
	}
	return q, nil
}

func (q *Quota) note(user int32, k Kind, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.of[user] == nil {
		q.of[user] = map[Kind]int64{}
	}
	q.of[user][k] += bytes
}

// Add counts bytes that tx stores, or deletes if the number is negative.
func (q *Quota) Add(tx *store.Tx, user int32, k Kind, bytes int64) {
	if q == nil || user == 0 || bytes == 0 {
		return
	}
	store.CountBytes(tx, store.UserBytes{UserID: user, Kind: string(k), Bytes: bytes})
	tx.OnEnd(func(err error) {
		if err == nil {
			q.note(user, k, bytes)
		}
	})
}

// counted lists the kinds of objects that are already counted. Versions before this package counted
// none.
var counted = store.Collection[struct{}]{Kind: "quota_counted"}

// Count counts the bytes of objects that earlier versions stored, once per store. It must be called
// before new objects are added.
func (q *Quota) Count(ctx context.Context, k Kind, objects string, count func(context.Context) (map[int32]int64, error)) error {
	if q == nil {
		return nil
	}
	id := string(k) + " of " + objects
	_, done, err := counted.Get(ctx, q.store, id)
	if err != nil || done {
		return err
	}
	of, err := count(ctx)
	if err == nil {
		err = q.store.Write(ctx, func(tx *store.Tx) error {
			for user, n := range of {
				q.Add(tx, user, k, n)
			}
			return counted.Put(tx, id, "", time.Time{}, struct{}{})
		})
	}
	if err != nil {
		return fmt.Errorf("count the stored %s: %w", id, err)
	}
	return nil
}

// Stored returns the number of bytes of each kind that a user has stored.
func (q *Quota) Stored(user int32) map[Kind]int64 {
	out := map[Kind]int64{}
	if q == nil {
		return out
	}
	q.mu.RLock()
	defer q.mu.RUnlock()
	for k, n := range q.of[user] {
		if n != 0 {
			out[k] = n
		}
	}
	return out
}
