// Package mark marks Google's objects as those of a cluster: their names, the marks
// they carry, and how they are made, found again and removed.
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

// Cluster is what all resources of one cluster share. Only ID and Clients must be set.
type Cluster struct {
	// ID is the cluster's id: "lab".
	ID string
	// Number is that of the project. It is in the names of buckets, which all projects
	// share.
	Number uint64
	// Outside is what of the user's own the cluster's secrets open beside its own data:
	// "database db.example.com". It is empty for nothing.
	Outside string
	// Shared is the subnetwork of another project, as "HOST-PROJECT/NAME", on which the
	// cluster's accounts are given a role. It is empty where that is not asked for.
	Shared string
	// Accounts are those of the user's that the cluster's machines have, by their e-mail
	// addresses. Their roles on what is the cluster's go with it.
	Accounts []string
	// KeepLogs has `down` leave the entries of the cluster's log.
	KeepLogs bool
	// Labels are the user's. They are put on everything that has labels, beside our own.
	Labels map[string]string
	// Clients are the services, in the cluster's project and region.
	Clients api.Clients
	// Pause waits for d or until ctx ends; nil waits on a timer.
	Pause func(ctx context.Context, d time.Duration) error
	// Log gets a line when something is waited for; nil is silence.
	Log *slog.Logger
}

// Waiter waits for what Google has not finished.
func (c *Cluster) Waiter() infra.Waiter { return infra.Waiter{Pause: c.Pause, Log: c.Log} }

// FullName is how an object of the cluster is named in the project: "det-lab-master".
// That of a network, whose name is empty, is "det-lab". Such a name also begins those of
// a cluster lab-2, so that a mark tells whose an object is, and never its name.
func (c *Cluster) FullName(name string) string {
	if name == "" {
		return "det-" + c.ID
	}
	return "det-" + c.ID + "-" + name
}

// Found is how the inventory lists an object.
func (c *Cluster) Found(kind string, o infra.Observed) resource.Found {
	return resource.Found{Kind: kind, ID: o.Identity, Name: path.Base(o.Identity), Retain: c.retainReason(kind, o), Launched: kind == KindAgent}
}

// retainReason says why an object outlives `down`. A disk that is not the cluster's data
// is some machine's own, a blank one holds nothing, and a secret whose mark was lost rather
// stays than goes.
func (c *Cluster) retainReason(kind string, o infra.Observed) string {
	switch {
	case kind == KindBucket:
		return "holds the checkpoints"
	case kind == KindSnapshot:
		return "holds a backup of the database"
	case kind == KindDisk && path.Base(o.Identity) == c.FullName(DataDisk) && !o.Blank:
		return "holds the database"
	case kind == KindLog && c.KeepLogs:
		return "the logs are to be kept"
	case kind != KindSecret || o.Marks[RetainLabel] == RetainNo:
		return ""
	}
	if outside := cmp.Or(o.Marks[OpensNote], c.Outside); outside != "" {
		return "opens " + outside + ", which stays"
	}
	return opensData
}

// opensData is why a secret is kept that opens the cluster's own data.
const opensData = "opens data that is kept"

// ReleaseSecrets lets go of secrets that open nothing any more. What of the user's a secret
// opens is noted on it.
func ReleaseSecrets(fs []resource.Found) []resource.Found {
	return infra.Release{Secret: KindSecret, Log: KindLog, OpensData: opensData}.ReleaseSecrets(fs)
}

// DataDisk is the name of the disk with the master's data.
const DataDisk = "data"
