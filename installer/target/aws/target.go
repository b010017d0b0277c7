// Package aws installs a cluster in an AWS account. It converts the settings of cluster.yaml to
// networks, roles, buckets, secrets, and a machine for the master with its disk, address and files.
package aws

import (
	"context"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	"github.com/det-deploy/det-deploy/cloud/aws/infra"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/installer/target/aws/checks"
	"github.com/det-deploy/det-deploy/installer/target/aws/control"
	"github.com/det-deploy/det-deploy/installer/target/aws/layout"
)

// Config configures a Target. Spec, Clients and Free are required.
type Config struct {
	// Layout is the requested configuration. If only the cluster ID is known, as for `down`,
	// Cluster and Region of the Spec are sufficient.
	layout.Layout

	// Unread reports that Spec does not hold the cluster's settings, because they are missing or
	// cannot be read.
	Unread bool
	// Clients ask the engine's gate before each change. Free do not; they serve the control bucket,
	// which holds the lease.
	Clients, Free api.Clients
	// S3Endpoint replaces the S3 endpoint on the master's machine, with a private endpoint or an
	// emulator.
	S3Endpoint string
	// Caller is the identity of the user; Open reads it if it is zero.
	Caller facts.Caller
	// Options are the user's options for this run.
	Options hosted.Options
}

// Target is one cluster on AWS.
type Target struct {
	Config
	*hosted.Cluster

	cluster *mark.Cluster
	store   control.Bucket
	search  hosted.Search
	policy  *control.Policy
}

var _ installer.Upgradable = (*Target)(nil)

// Open returns the cluster in the caller's account. It changes nothing.
func Open(ctx context.Context, c Config) (*Target, error) {
	if c.Options.RefreshImages {
		c.Known.Images = nil // Look reads them
	}
	t := &Target{Config: c}
	if t.Caller.Account == "" {
		var err error
		if t.Caller, err = (facts.Facts{Clients: c.Free}).Caller(ctx); err != nil {
			return nil, err
		}
	}
	id := c.Spec.Cluster
	t.cluster = &mark.Cluster{
		ID: id, Account: t.Caller.Account, Tags: c.Spec.Tags, Outside: userOwned(c.Spec), Unread: c.Unread, Clients: c.Clients,
		Pause: c.Options.Pause, Log: c.Options.Log,
	}
	t.store = control.Open(c.Free, id, t.Caller.Account)
	t.policy = &control.Policy{Bucket: t.store.Name, In: t.cluster}
	t.Cluster = hosted.New(ctx, hosted.Setup{
		Options: c.Options, Common: c.Spec.Common, Agents: c.Spec.Agents.Agents, Aux: c.Spec.AuxPool.Pool, Parts: t.awsParts(),
		MakesDeterminedPassword: func() bool { return t.Known.DeterminedPassword },
	})
	return t, nil
}

// awsParts returns the AWS implementation of a hosted cluster's parts.
func (t *Target) awsParts() hosted.Parts {
	return hosted.Parts{
		Words: hosted.Words{
			Noun: "aws", Scheme: secret.AWS, Vault: "Secrets Manager", MasterHost: "local-ipv4", Inbound: "--inbound-cidr",
		},
		Objects: control.Objects{Bucket: t.store, Gated: t.Clients.S3}, Vault: vault{t.cluster}, Machines: t,
		Disk:    dataDisk{t.cluster, t.Spec.Master.Volume.ID},
		Address: func() hosted.Address { return newMasterAddress(t.cluster) },
		Logs:    t.logGroup(), Metrics: t.Spec.Metrics,
		Marked: marked{infra.Objects{Cluster: t.cluster}, t.policy},
	}
}

// userOwned names the user's resources that the cluster's passwords open and that outlive `down`.
func userOwned(s spec.AWS) string {
	var out []string
	if s.Master.Volume.ID != "" {
		out = append(out, "volume "+s.Master.Volume.ID)
	}
	if !s.Database.URL.IsZero() {
		out = append(out, "your database")
	}
	return strings.Join(out, " and ")
}

// Remember returns the settings and known facts for the record.
func (t *Target) Remember() (map[string]string, error) { return hosted.Remember(t.Settings, t.Known) }

// Look reads everything that the spec mentions and that is still unknown. It changes nothing.
func (t *Target) Look(ctx context.Context) error {
	k, err := t.Layout.Look(ctx, t.Clients, t.WantsDeterminedPassword)
	if err == nil {
		t.Known = k
	}
	return err
}

// Checks returns the preflight checks of the cluster.
func (t *Target) Checks() []doctor.Check {
	return checks.Subject{
		Layout: t.Layout, Cluster: t.Cluster, Clients: t.Clients, Caller: t.Caller, Owner: t.cluster, Control: t.store,
		Scope: t.Scope(), Placeholder: t.placeholderLive,
	}.List()
}

// Store returns the control bucket, which holds the record.
func (t *Target) Store() control.Bucket { return t.store }

// marked is the set of the cluster's objects, including the policy of its control bucket.
type marked struct {
	infra.Objects

	policy *control.Policy
}

var _ hosted.Marked = marked{}

// Kinds implements hosted.Marked.
func (m marked) Kinds() []string { return append([]string{control.KindPolicy}, m.Objects.Kinds()...) }

// Inventory implements hosted.Marked.
func (m marked) Inventory(ctx context.Context, cluster string) ([]resource.Found, error) {
	all, err := m.Objects.Inventory(ctx, cluster)
	return slices.DeleteFunc(all, func(f resource.Found) bool { return f.Kind == mark.KindBucket && f.ID == m.policy.Bucket }), err
}

// Remove implements hosted.Marked.
func (m marked) Remove(ctx context.Context, f resource.Found) error {
	if f.Kind == control.KindPolicy {
		return m.policy.Delete(ctx)
	}
	return m.Objects.Remove(ctx, f)
}
