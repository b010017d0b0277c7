// Package gcp opens and lists clusters on Google Cloud, and provides the choices and limits for the form
// of a new cluster.
package gcp

import (
	"context"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/installer/target/gcp"
	"github.com/det-deploy/det-deploy/installer/target/gcp/control"
	"github.com/det-deploy/det-deploy/installer/target/gcp/layout"
)

// Request selects a cluster on Google Cloud and describes the operation.
type Request struct {
	wire.CloudRequest
	Account
}

// Account selects the project and the identity to use. Empty fields default to those of gcloud.
type Account struct {
	Project, Impersonate string
}

// openClients opens clients for the account. o determines which fields may be empty.
func (a Account) openClients(ctx context.Context, o api.Options) (api.Clients, error) {
	o.Project, o.Impersonate = a.Project, a.Impersonate
	return api.Open(ctx, o)
}

// opened is an opened cluster on Google Cloud.
type opened struct {
	wire.CloudCluster

	Target *gcp.Target

	free api.Clients
}

// Open opens a cluster. It changes nothing.
func Open(ctx context.Context, s *term.Streams, q Request) (*wire.CloudCluster, error) {
	g, who, err := openRecord(ctx, q)
	if err != nil {
		return nil, err
	}
	c, err := g.targetConfig(q)
	if err != nil {
		return nil, err
	}
	c.Caller = who
	gate := new(resource.Gate)
	account, err := q.accountFlags()
	if err != nil {
		return nil, err
	}
	q.Project = g.free.Project
	if c.Clients, err = q.openClients(ctx, api.Options{Region: g.free.Region, Gate: gate, Log: q.Log}); err != nil {
		return nil, err
	}
	c.Free = g.free
	if g.Target, err = gcp.Open(ctx, c); err != nil {
		return nil, err
	}
	return &g.CloudCluster, g.Install(ctx, s, q.CloudRequest, wire.CloudParts{
		Platform: "gcp", Region: g.free.Region, Project: g.free.Project, Account: account, Caller: g.Target.Caller.Identity,
		Target: g.Target, Cluster: g.Target.Cluster, Store: g.Target.Store(), Gate: gate, Logs: g.openLogs(),
		Flags: spec.GCPFlags(), New: func() spec.Cluster { return new(spec.GCP) }, MasterSetting: "master-machine-type",
	})
}

// accountFlags returns the flags that select the project and identity, unless the environment does.
func (q Request) accountFlags() ([]string, error) {
	project := q.Project
	if project == "" {
		var err error
		if project, err = q.Named("project"); err != nil {
			return nil, err
		}
	}
	return q.flags(project), nil
}

// flags returns the flags that select the account, in a project that is named if it is not empty.
func (a Account) flags(project string) []string {
	var out []string
	if project != "" {
		out = append(out, "--project", project)
	}
	if a.Impersonate != "" {
		out = append(out, "--impersonate", a.Impersonate)
	}
	return out
}

// OpenRemembered opens a cluster as it is recorded, at the location that q gives.
func OpenRemembered(ctx context.Context, s *term.Streams, q Request) (*wire.CloudCluster, error) {
	place, err := Locate(ctx, q)
	if err != nil {
		return nil, err
	}
	q.CloudRequest = q.AsRemembered()
	q.Project, q.Region = place.Project, place.Region
	return Open(ctx, s, q)
}

// openRecord opens clients for the cluster's location and reads its record.
func openRecord(ctx context.Context, q Request) (*opened, facts.Caller, error) {
	place, who, err := locate(ctx, q)
	if err != nil {
		return nil, who, err
	}
	g := &opened{}
	q.Project = place.Project
	if g.free, err = q.openClients(ctx, api.Options{Region: place.Region, Log: q.Log}); err != nil {
		return nil, who, err
	}
	if err := checkRegion(ctx, g.free, q, place.Number); err != nil {
		return nil, who, err
	}
	return g, who, g.ReadRecord(ctx, control.Open(g.free, q.Cluster, place.Number))
}

// targetConfig returns the part of the target's configuration that follows from given and recorded
// settings.
func (g *opened) targetConfig(q Request) (gcp.Config, error) {
	place := map[string]string{"project": g.free.Project, "region": g.free.Region}
	r, err := wire.ReadSettings[spec.GCP, layout.Known](q.CloudRequest, g.Opened, spec.GCPFlags(), place)
	if err != nil {
		return gcp.Config{}, err
	}
	if r.Unread {
		r.Spec = spec.GCP{Common: spec.Common{Cluster: q.Cluster}, Project: g.free.Project, Region: g.free.Region}
	}
	if !g.Known && r.Known.Master.Zone == "" {
		r.Known.Master.Zone = g.free.Zone // the initial zone of the cluster, unless the user names one
	}
	g.Unread = r.Reason
	c := gcp.Config{Layout: layout.Layout{Spec: r.Spec, Known: r.Known}, Unread: r.Unread, Adopts: !g.Record.Ready.IsZero()}
	c.Options, err = q.Options(r.All, secret.GCP, storage.SecretSource{Clients: g.free})
	return c, err
}
