// Package record stores the facts that a cluster's objects do not show: the settings, the creations
// in progress, and the lease of the process that changes the cluster. The record is small, it can
// be rebuilt, and it is not a list of existing objects.
package record

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

// Store is a small storage location of one cluster: a control bucket, a Secret or a directory. All
// writes are conditional, so that the second of two writers gets an error.
//
// Errors have a kind: cloud.NotFound if an object, or the whole store, does not exist, and
// cloud.Conflict if a condition fails.
type Store interface {
	// Make creates the store. It may be repeated.
	Make(ctx context.Context) error

	// Get reads one object.
	Get(ctx context.Context, key string) (Object, error)

	// Put writes one object and returns its new version. Was is the version to replace, or empty if
	// the object must not exist.
	Put(ctx context.Context, key string, data []byte, was string) (version string, err error)

	// Delete deletes one object if it still has version was. It returns nil if the object does not
	// exist.
	Delete(ctx context.Context, key, was string) error

	// Destroy deletes the store with its content. It may be repeated.
	Destroy(ctx context.Context) error
}

// doubtful is the number of attempts of a write whose responses are lost.
const doubtful = 5

// put is like Store.Put. If a response is lost, it reads the object back to find out whether the write
// took effect, and repeats it otherwise.
func put(ctx context.Context, s Store, key string, data []byte, was string) (version string, err error) {
	for range doubtful {
		version, err = s.Put(ctx, key, data, was)
		if cloud.KindOf(err) != cloud.Ambiguous {
			return version, err
		}
		o, readErr := s.Get(ctx, key)
		switch {
		case readErr != nil && cloud.KindOf(readErr) != cloud.NotFound:
			return version, err
		case o.Version == was: // not written, or with equal content
		case bytes.Equal(o.Data, data):
			return o.Version, nil
		default:
			return version, &cloud.Error{Kind: cloud.Conflict, Op: "put", Resource: key, Err: errors.New("another process has written it")}
		}
	}
	return version, err
}

// Finisher is a Store that is incomplete when Make returns, but can already hold the lease.
type Finisher interface {
	Store

	// Finish completes the store. It must return before anything but the lease is written. It may
	// be repeated.
	Finish(ctx context.Context) error
}

// Object is an object as read from the store.
type Object struct {
	Data []byte
	// Place is its location for display: a path or a URL.
	Place string
	// Version changes with every write.
	Version string
	// Written and Read are the times of the last write and of this read, both by the store's clock.
	Written, Read time.Time
}

// The keys of a cluster's objects.
const (
	// Key holds the record.
	Key = "record.json"
	// LeaseKey holds the lease.
	LeaseKey = "lease.json"
)
