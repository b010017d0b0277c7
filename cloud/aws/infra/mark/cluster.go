// Package mark identifies the AWS objects of a cluster: it defines their tags, how to find them,
// and which of them are retained after the cluster is deleted.
package mark

import (
	"context"
	"log/slog"
	"time"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/infra"
)

// Cluster holds the common settings of all resources of a cluster. Only ID, Account and Clients are
// required.
type Cluster struct {
	// ID is the cluster ID: "lab".
	ID string
	// Account is the ID of the account that contains all resources, twelve digits.
	Account string
	// Tags are the user's tags. They are set on all objects in addition to det-deploy's.
	Tags map[string]string
	// Outside describes existing data of the user that the cluster's secrets belong to: "volume
	// vol-0ab1". It is retained, and so are the secrets.
	Outside string
	// Unread is true if the cluster's settings are unknown, so that it is also unknown whether the
	// secrets belong to existing data. Secrets without an OpensTag are then retained.
	Unread bool
	// Clients are the service clients in the cluster's region.
	Clients api.Clients
	// Pause waits for d or until ctx is done. Nil uses a timer.
	Pause func(ctx context.Context, d time.Duration) error
	// Log receives a message for each wait. Nil disables it.
	Log *slog.Logger
}

// PathStart is the prefix of role paths and log group names.
const PathStart = "/det-deploy/"

// Waiter returns a waiter for asynchronous changes.
func (c *Cluster) Waiter() infra.Waiter { return infra.Waiter{Pause: c.Pause, Log: c.Log} }
