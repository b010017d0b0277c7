// Package aws puts a cluster into an account of Amazon's: what cluster.yaml says
// becomes networks, roles, a machine for the master with its disk and address,
// buckets and secrets, and the files that the machine runs with.
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

// Config is what a Target is made of. Spec, Clients and Free are required.
type Config struct {
	// Layout is what the cluster should be. To take down one of which nothing is known but
	// its id, only Cluster and Region of the Spec need to be there.
	layout.Layout

	// Unread is true when Spec is not what the cluster was to be, because that is not
	// remembered or cannot be read.
	Unread bool
	// Clients ask the engine's gate before they change something; Free ask none,
	// and serve the control bucket, on which the lease is.
	Clients, Free api.Clients
	// S3Endpoint takes the place of Amazon's address for S3 on the master's machine:
	// that of a private endpoint or of an emulator.
	S3Endpoint string
	// Caller is who works on the cluster; Open asks where it is zero.
	Caller facts.Caller
	// Options is what a person wants of this run.
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

// awsParts are the parts of a hosted cluster that AWS provides.
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

// userOwned names what the cluster's passwords open and the user owns, which outlives
// `down`.
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

// Remember is the settings with what is known, for the record.
func (t *Target) Remember() (map[string]string, error) { return hosted.Remember(t.Settings, t.Known) }

// Look asks Amazon for everything that the spec mentions and that is not known yet. It
// changes nothing.
func (t *Target) Look(ctx context.Context) error {
	k, err := t.Layout.Look(ctx, t.Clients, t.WantsDeterminedPassword)
	if err == nil {
		t.Known = k
	}
	return err
}

// Checks lists what has to hold before anything is changed.
func (t *Target) Checks() []doctor.Check {
	return checks.Subject{
		Layout: t.Layout, Cluster: t.Cluster, Clients: t.Clients, Caller: t.Caller, Owner: t.cluster, Control: t.store,
		Scope: t.Scope(), Placeholder: t.placeholderLive,
	}.List()
}

// Store is where the record is kept.
func (t *Target) Store() control.Bucket { return t.store }

// marked is what the cluster consists of, with the policy of its control bucket.
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
