// Package gcp installs a cluster in a Google Cloud project. It converts the settings of
// cluster.yaml to a network, service accounts with roles, buckets, secrets, and a machine for the
// master with its disk, address and files.
package gcp

import (
	"context"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/installer/target/gcp/checks"
	"github.com/det-deploy/det-deploy/installer/target/gcp/control"
	"github.com/det-deploy/det-deploy/installer/target/gcp/layout"
)

// Config configures a Target. Spec, Clients and Free are required.
type Config struct {
	// Layout is the requested configuration. If only the cluster ID is known, as for `down`,
	// Cluster, Project and Region of the Spec are sufficient.
	layout.Layout

	// Unread reports that Spec does not hold the cluster's settings, because they are missing or
	// cannot be read.
	Unread bool
	// Clients ask the engine's gate before each change. Free do not; they serve the control bucket,
	// which holds the lease.
	Clients, Free api.Clients
	// Adopts reports that the cluster was complete once, so that objects with its names and without any mark
	// are its own.
	Adopts bool
	// Caller is the identity of the user; Open reads it if it is zero.
	Caller facts.Caller
	// Options are the user's options for this run.
	Options hosted.Options
}

// Target is one cluster on Google Cloud.
type Target struct {
	Config
	*hosted.Cluster

	cluster *mark.Cluster
	store   control.Bucket
	search  hosted.Search
}

var _ installer.Upgradable = (*Target)(nil)

// Open returns the cluster in the caller's project. It changes nothing.
func Open(ctx context.Context, c Config) (*Target, error) {
	if c.Options.RefreshImages {
		c.Known.Images = nil // Look reads them
	}
	t := &Target{Config: c}
	if t.Caller.Number == 0 {
		var err error
		if t.Caller, err = (facts.Facts{Clients: c.Free}).Caller(ctx); err != nil {
			return nil, err
		}
	}
	t.cluster = &mark.Cluster{
		ID: c.Spec.Cluster, Number: t.Caller.Number, Labels: c.Spec.Labels, Outside: userOwned(c.Spec), Shared: sharedAccess(c.Spec),
		Adopts: c.Adopts, KeepLogs: c.Spec.Logs.KeepOnDown || c.Unread, Clients: c.Clients, Pause: c.Options.Pause, Log: c.Options.Log,
	}
	t.noteAccounts()
	t.store = control.Open(c.Free, c.Spec.Cluster, t.Caller.Number)
	t.store.Labels, t.store.Waiter = t.cluster.AllLabels(), t.cluster.Waiter()
	t.Cluster = hosted.New(ctx, hosted.Setup{
		Options: c.Options, Common: c.Spec.Common, Agents: c.Spec.Agents.Agents, Aux: c.Spec.AuxPool.Pool, Parts: t.googleParts(),
		MakesDeterminedPassword: func() bool { return t.Known.DeterminedPassword },
	})
	return t, nil
}

// googleParts returns the Google Cloud implementation of a hosted cluster's parts.
func (t *Target) googleParts() hosted.Parts {
	return hosted.Parts{
		Words: hosted.Words{
			Noun: "gcp", Scheme: secret.GCP, Vault: "Secret Manager", MasterHost: "internal-ip", Inbound: "--inbound-cidr",
		},
		Objects: control.Objects{Bucket: t.store, Gated: t.Clients}, Vault: vault{t.cluster}, Machines: t,
		Disk:    keeper{t},
		Address: func() hosted.Address { return newMasterAddress(t.cluster) },
		Logs:    storage.LogID(t.Spec.Cluster), Metrics: t.Spec.Metrics,
		Marked: infra.Objects{Cluster: t.cluster},
	}
}

// userOwned names the user's resources that the cluster's passwords open and that outlive `down`.
func userOwned(s spec.GCP) string {
	var out []string
	if s.Master.Disk.Name != "" {
		out = append(out, "disk "+s.Master.Disk.Name)
	}
	if !s.Database.URL.IsZero() {
		out = append(out, "your database")
	}
	return strings.Join(out, " and ")
}

// sharedAccess returns the subnetwork of another project on which the cluster's accounts get a
// role, or "".
func sharedAccess(s spec.GCP) string {
	if !s.Network.ShareAccess {
		return ""
	}
	return s.Network.HostProject + "/" + s.Network.Subnetwork
}

// Remember returns the settings and known facts for the record.
func (t *Target) Remember() (map[string]string, error) { return hosted.Remember(t.Settings, t.Known) }

// Look reads everything that the spec mentions and that is still unknown. It changes nothing.
func (t *Target) Look(ctx context.Context) error {
	k, err := t.Layout.Look(ctx, t.Clients, t.WantsDeterminedPassword)
	if err == nil {
		t.Known = k
		t.noteAccounts()
	}
	return err
}

// Checks returns the preflight checks of the cluster.
func (t *Target) Checks() []doctor.Check {
	return checks.Subject{
		Layout: t.Layout, Cluster: t.Cluster, Clients: t.Clients, Caller: t.Caller, Owner: t.cluster, Control: t.store, Placeholder: t.live,
	}.List()
}

// Store returns the control bucket, which holds the record.
func (t *Target) Store() control.Bucket { return t.store }
