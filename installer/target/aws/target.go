// Package aws puts a cluster into an account of Amazon's: what cluster.yaml says
// becomes networks, roles, a machine for the master with its disk and address,
// buckets and secrets, and the files that the machine runs with.
package aws

import (
	"context"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	"github.com/det-deploy/det-deploy/cloud/aws/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/delay"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// Config is what a Target is made of. Spec, Clients and Free are required.
type Config struct {
	// Spec is what the cluster should be. For taking down a cluster of which
	// nothing is known but its id, only Cluster and Region need to be there.
	Spec spec.AWS
	// Unread is true when Spec is not what the cluster was to be, because that is not
	// remembered or cannot be read.
	Unread bool
	// Settings is what is remembered of the cluster, without what is known.
	Settings map[string]string
	// Known is what was asked of Amazon before and is kept.
	Known Known
	// Clients ask the engine's gate before they change something; Free ask none,
	// and serve the control bucket, on which the lease is.
	Clients, Free api.Clients
	// Version is that of this program, and Programs are its files.
	Version  string
	Programs Programs
	// Secrets reads the secrets of this machine that the spec refers to.
	Secrets secret.Resolver
	// S3Endpoint takes the place of Amazon's address for S3 on the master's machine:
	// that of a private endpoint or of an emulator.
	S3Endpoint string
	// NoWait leaves Ready as soon as every resource stands; NoVerify as soon as the
	// master answers.
	NoWait, NoVerify bool
	// Ask talks to the master; nil dials it.
	Ask func(Endpoint) (Master, error)
	// Open opens a program; nil opens the file.
	Open func(path string) (io.ReadSeekCloser, error)
	// Now is the time and Pause waits; nil is the clock's.
	Now   func() time.Time
	Pause func(ctx context.Context, d time.Duration) error
	Log   *slog.Logger
}

// Target is one cluster on AWS.
type Target struct {
	Config

	// Caller is who works on the cluster.
	Caller facts.Caller

	cluster *infra.Cluster
	store   Bucket
	given   map[string]given
	// leaving is set once the control bucket's policy is left to go with the bucket.
	leaving atomic.Bool
}

var _ installer.Deployment = (*Target)(nil)

// Open asks who the caller is, and returns the cluster in their account. It
// changes nothing.
func Open(ctx context.Context, c Config) (*Target, error) {
	t := &Target{Config: c}
	var err error
	if t.Caller, err = (facts.Facts{Clients: c.Free}).Caller(ctx); err != nil {
		return nil, err
	}
	if t.Now == nil {
		t.Now = time.Now
	}
	if t.Pause == nil {
		t.Pause = delay.For
	}
	if t.Open == nil {
		t.Open = func(path string) (io.ReadSeekCloser, error) { return os.Open(path) }
	}
	if t.Ask == nil {
		t.Ask = dial
	}
	id := c.Spec.Cluster
	t.cluster = &infra.Cluster{
		ID: id, Account: t.Caller.Account, Tags: c.Spec.Tags, Outside: outside(c.Spec), Unread: c.Unread, Clients: c.Clients,
		Pause: c.Pause, Log: c.Log,
	}
	t.store = ControlStore(c.Free, id, t.Caller.Account)
	t.read(ctx)
	return t, nil
}

// outside is what the cluster's passwords open that is the user's own, and so
// outlives whatever `down` removes.
func outside(s spec.AWS) string {
	var out []string
	if s.Master.Volume.ID != "" {
		out = append(out, "volume "+s.Master.Volume.ID)
	}
	if !s.Database.URL.IsZero() {
		out = append(out, "your database")
	}
	return strings.Join(out, " and ")
}

// ControlStore is where the record of a cluster is kept.
func ControlStore(c api.Clients, cluster, account string) Bucket {
	return Bucket{
		S3: c.S3, Name: ControlBucket(cluster, account), Region: c.Region, Account: account,
		Tags: map[string]string{infra.ClusterTag: cluster},
	}
}

// Store is where the record is kept.
func (t *Target) Store() Bucket { return t.store }

// Kinds has what others need first. A master is stopped before anything else
// goes.
func (t *Target) Kinds() []string {
	return slices.Concat([]string{kindProgram, kindBucketPolicy}, t.cluster.Kinds(), []string{kindManifest})
}

// Inventory lists everything that carries the cluster's mark, but for the control
// bucket, which goes with the record.
func (t *Target) Inventory(ctx context.Context, cluster string) ([]resource.Found, error) {
	all, err := t.cluster.Inventory(ctx, cluster)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(f resource.Found) bool {
		return f.Kind == infra.KindBucket && f.ID == t.store.Name
	})
	f, _, err := (&configuration{t: t, lore: &lore{t: t}}).Find(ctx)
	if f.Exists() {
		all = append(all, f)
	}
	return all, err
}

// Remove deletes one object of the inventory.
func (t *Target) Remove(ctx context.Context, f resource.Found) error {
	switch f.Kind {
	case kindManifest:
		return t.halt(ctx)
	case kindProgram:
		return t.erase(ctx, f.ID)
	case kindBucketPolicy:
		return (&controlPolicy{t: t}).Delete(ctx)
	default:
		return t.cluster.Remove(ctx, f)
	}
}
