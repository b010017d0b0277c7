// Package gcp puts a cluster into a project of Google's: what cluster.yaml says becomes a
// network, service accounts with their roles, a machine for the master with its disk and
// address, buckets and secrets, and the files that the machine runs with.
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

// Config is what a Target is made of. Spec, Clients and Free are required.
type Config struct {
	// Layout is what the cluster should be. To take down one of which nothing is known but
	// its id, only Cluster, Project and Region of the Spec need to be there.
	layout.Layout

	// Unread is true when Spec is not what the cluster was to be, because that is not
	// remembered or cannot be read.
	Unread bool
	// Clients ask the engine's gate before they change something; Free ask none,
	// and serve the control bucket, on which the lease is.
	Clients, Free api.Clients
	// Caller is who works on the cluster; Open asks where it is zero.
	Caller facts.Caller
	// Options is what a person wants of this run.
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
	t := &Target{Config: c}
	if t.Caller.Number == 0 {
		var err error
		if t.Caller, err = (facts.Facts{Clients: c.Free}).Caller(ctx); err != nil {
			return nil, err
		}
	}
	t.cluster = &mark.Cluster{
		ID: c.Spec.Cluster, Number: t.Caller.Number, Labels: c.Spec.Labels, Outside: userOwned(c.Spec), Shared: sharedAccess(c.Spec),
		KeepLogs: c.Spec.Logs.KeepOnDown || c.Unread, Clients: c.Clients, Pause: c.Options.Pause, Log: c.Options.Log,
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

// googleParts are the parts of a hosted cluster that Google provides.
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

// userOwned names what the cluster's passwords open and the user owns, which outlives
// `down`.
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

// sharedAccess is the subnetwork of another project on which the cluster's accounts are
// given a role, where that is asked for.
func sharedAccess(s spec.GCP) string {
	if !s.Network.ShareAccess {
		return ""
	}
	return s.Network.HostProject + "/" + s.Network.Subnetwork
}

// Remember is the settings with what is known, for the record.
func (t *Target) Remember() (map[string]string, error) { return hosted.Remember(t.Settings, t.Known) }

// Look asks Google for everything that the spec mentions and that is not known yet. It
// changes nothing.
func (t *Target) Look(ctx context.Context) error {
	k, err := t.Layout.Look(ctx, t.Clients, t.WantsDeterminedPassword)
	if err == nil {
		t.Known = k
		t.noteAccounts()
	}
	return err
}

// Checks lists what has to hold before anything is changed.
func (t *Target) Checks() []doctor.Check {
	return checks.Subject{
		Layout: t.Layout, Cluster: t.Cluster, Clients: t.Clients, Caller: t.Caller, Owner: t.cluster, Control: t.store, Placeholder: t.live,
	}.List()
}

// Store is where the record is kept.
func (t *Target) Store() control.Bucket { return t.store }
