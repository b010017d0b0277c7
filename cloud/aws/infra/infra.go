// Package infra makes, looks at and removes everything of Amazon's that a
// cluster consists of: network, roles, the master's machine, its disk and
// address, buckets, secrets and logs. Each thing is one small resource; what
// the user brought is only pointed at and checked, never changed or removed.
package infra

import (
	"context"
	"log/slog"
	"time"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
)

// Cluster is what all resources of one cluster share. Only ID, Account and
// Clients must be set.
type Cluster struct {
	// ID is the cluster's id: "lab".
	ID string
	// Account is the number of the account that everything is made in, twelve
	// digits.
	Account string
	// Tags are the user's. They are put on everything, beside our own.
	Tags map[string]string
	// Outside is data of the user's own that the cluster's secrets open, in words:
	// "volume vol-0ab1". It stays, and so do they.
	Outside string
	// Unread is true when the cluster's settings are not known, and so whether there
	// is data outside: secrets made before such data was noted on them then stay.
	Unread bool
	// Clients are the services, in the cluster's region.
	Clients api.Clients
	// Pause waits for d or until ctx ends; nil waits on a timer.
	Pause func(ctx context.Context, d time.Duration) error
	// Log is told when something is waited for; nil tells nobody.
	Log *slog.Logger
}

// Ref is something that a resource points at: another resource, or something of
// the user's.
type Ref interface {
	// ID is the resource that has to be there first, or empty when nothing has.
	ID() string
	// Identity is what Amazon calls it ("subnet-0ab1"), or empty while that is
	// not known.
	Identity() string
}

// Existing is the identity of something of the user's: "vpc-0ab1". It is never
// changed and never removed.
type Existing string

// ID is empty: nothing has to be made first.
func (Existing) ID() string { return "" }

// Identity is what the user said.
func (e Existing) Identity() string { return string(e) }

// learned is the only part of a resource that changes: its identity, known once
// it was found or made.
type learned struct{ id string }

// Identity is what Amazon calls it, or empty while that is not known.
func (l *learned) Identity() string { return l.id }

// needs lists the resources among refs, without what is the user's and without
// what is not set.
func needs(refs ...Ref) []string {
	var out []string
	for _, r := range refs {
		if r != nil && r.ID() != "" {
			out = append(out, r.ID())
		}
	}
	return out
}

func (c *Cluster) log() *slog.Logger {
	if c.Log != nil {
		return c.Log
	}
	return slog.New(slog.DiscardHandler)
}
