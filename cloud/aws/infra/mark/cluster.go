// Package mark marks Amazon's objects as those of a cluster: the tags they carry,
// how they are found again, and what outlives the cluster.
package mark

import (
	"context"
	"log/slog"
	"time"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/infra"
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
	// Log gets a line when something is waited for; nil is silence.
	Log *slog.Logger
}

// PathStart begins the path of roles and the names of log groups.
const PathStart = "/det-deploy/"

// Waiter waits for what Amazon has not finished.
func (c *Cluster) Waiter() infra.Waiter { return infra.Waiter{Pause: c.Pause, Log: c.Log} }
