// Package record remembers what cannot be read off a cluster's objects: which
// settings its owner chose, what was about to be created, and who is at work on
// it right now. It is small, it can be rebuilt, and it is no list of what
// exists.
package record

import (
	"context"
	"time"
)

// Store is a small place that belongs to one cluster: a control bucket, a
// Secret, a directory. Every write is conditional, so that of two writers one
// learns that it was second.
//
// Refusals carry a kind: cloud.NotFound for an object, or a whole place, that is
// not there, and cloud.Conflict for a condition that does not hold.
type Store interface {
	// Make makes the place. It may be repeated.
	Make(ctx context.Context) error

	// Get reads one object.
	Get(ctx context.Context, key string) (Object, error)

	// Put writes one object and returns its new version. Was is the version it
	// replaces, or empty when there must be none.
	Put(ctx context.Context, key string, data []byte, was string) (version string, err error)

	// Delete removes one object if it still has version was. What is already
	// gone is not an error.
	Delete(ctx context.Context, key, was string) error

	// Destroy removes the place and all that is in it. It may be repeated.
	Destroy(ctx context.Context) error
}

// Finisher is a Store whose place is not as it should be yet when Make returns, and takes
// the lease all the same.
type Finisher interface {
	Store

	// Finish brings the place to what it should be, before anything but the lease is
	// written into it. It may be repeated.
	Finish(ctx context.Context) error
}

// Object is one object as it was read.
type Object struct {
	Data []byte
	// Place is what people call where it is: a path, an address.
	Place string
	// Version changes with every write.
	Version string
	// Written and Read are when it was last written and when this answer was
	// given, both by the store's own clock.
	Written, Read time.Time
}

// The keys of a cluster's objects.
const (
	// Key holds the record.
	Key = "record.json"
	// LeaseKey holds the lease.
	LeaseKey = "lease.json"
)
