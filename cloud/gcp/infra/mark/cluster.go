// Package mark identifies the Google Cloud objects of a cluster: it defines their names and marks,
// and how to create, find and delete them.
package mark

import (
	"cmp"
	"context"
	"log/slog"
	"path"
	"time"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Cluster holds the common settings of all resources of a cluster. Only ID and Clients are
// required.
type Cluster struct {
	// ID is the cluster ID: "lab".
	ID string
	// Number is the project number. It is part of bucket names, which are global.
	Number uint64
	// Outside describes existing data of the user that the cluster's secrets belong to, besides its
	// own: "database db.example.com". It is empty if there is no such data.
	Outside string
	// Shared is the subnetwork of another project, as "HOST-PROJECT/NAME", on which the cluster's
	// accounts are granted a role. It is empty if that is not requested.
	Shared string
	// Accounts are the emails of existing service accounts that the cluster's instances use. Their
	// roles on the cluster's resources are revoked with the cluster.
	Accounts []string
	// Adopts reports that objects with the cluster's names and without any mark are the cluster's. It is set
	// once the cluster was complete.
	Adopts bool
	// KeepLogs makes `down` retain the entries of the cluster's log.
	KeepLogs bool
	// Labels are the user's labels. They are set on all objects that support labels, in addition to
	// det-deploy's.
	Labels map[string]string
	// Clients are the service clients in the cluster's project and region.
	Clients api.Clients
	// Pause waits for d or until ctx is done. Nil uses a timer.
	Pause func(ctx context.Context, d time.Duration) error
	// Log receives a message for each wait. Nil disables it.
	Log *slog.Logger
}

// Waiter returns a waiter for asynchronous changes.
func (c *Cluster) Waiter() infra.Waiter { return infra.Waiter{Pause: c.Pause, Log: c.Log} }

// FullName returns the name of an object in the project: "det-lab-master". The network, whose name
// is empty, is "det-lab". Such a name is also a prefix of the names of a cluster lab-2, therefore
// the owner of an object is determined by its mark and never by its name.
func (c *Cluster) FullName(name string) string {
	if name == "" {
		return "det-" + c.ID
	}
	return "det-" + c.ID + "-" + name
}

// Found converts an object to the form of the inventory.
func (c *Cluster) Found(kind string, o infra.Observed) resource.Found {
	return resource.Found{Kind: kind, ID: o.Identity, Name: path.Base(o.Identity), Retain: c.retainReason(kind, o), Launched: kind == KindAgent}
}

// retainReason returns the reason why `down` retains an object, or "". A disk that is not the
// cluster's data disk is the boot disk of an instance, a blank one contains no data, and a secret
// without its mark is retained to be safe.
func (c *Cluster) retainReason(kind string, o infra.Observed) string {
	switch {
	case kind == KindBucket:
		return "holds the checkpoints"
	case kind == KindSnapshot && !o.Failed:
		return "holds a backup of the database"
	case kind == KindDisk && path.Base(o.Identity) == c.FullName(DataDisk) && !o.Blank:
		return "holds the database"
	case kind == KindLog && c.KeepLogs:
		return "log retention is enabled"
	case kind != KindSecret || o.Marks[RetainLabel] == RetainNo:
		return ""
	}
	if outside := cmp.Or(o.Marks[OpensNote], c.Outside); outside != "" {
		return "required by " + outside + ", which is kept"
	}
	return opensData
}

// opensData is the reason to retain a secret for the cluster's data.
const opensData = "required by the cluster's data"

// ReleaseSecrets releases secrets that no retained data requires. Secrets for data of the user are
// annotated with it.
func ReleaseSecrets(fs []resource.Found) []resource.Found {
	return infra.Release{Secret: KindSecret, Log: KindLog, OpensData: opensData}.ReleaseSecrets(fs)
}

// DataDisk is the name of the master's data disk.
const DataDisk = "data"
