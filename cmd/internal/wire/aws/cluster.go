// Package aws opens and lists clusters on AWS, and provides the choices and limits for the form of a new
// cluster.
package aws

import (
	"context"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/installer/target/aws"
	"github.com/det-deploy/det-deploy/installer/target/aws/control"
	"github.com/det-deploy/det-deploy/installer/target/aws/layout"
)

// Request selects a cluster on AWS and describes the operation.
type Request struct {
	wire.CloudRequest

	// Profile may be empty; the environment then selects it.
	Profile string
}

// opened is an opened cluster on AWS.
type opened struct {
	wire.CloudCluster

	Target *aws.Target

	free api.Clients
}

// Open opens a cluster. It changes nothing.
func Open(ctx context.Context, s *term.Streams, q Request) (*wire.CloudCluster, error) {
	a, who, err := openClients(ctx, q)
	if err != nil {
		return nil, err
	}
	if err := a.readRecord(ctx, q, who.Account); err != nil {
		return nil, err
	}
	c, err := a.targetConfig(q)
	if err != nil {
		return nil, err
	}
	gate := new(resource.Gate)
	if c.Clients, err = api.Open(ctx, api.Options{Region: a.free.Region, Profile: q.Profile, Gate: gate, Log: q.Log}); err != nil {
		return nil, err
	}
	c.Caller, c.Free, c.S3Endpoint = who, a.free, s.Getenv("AWS_ENDPOINT_URL")
	if a.Target, err = aws.Open(ctx, c); err != nil {
		return nil, err
	}
	return &a.CloudCluster, a.Install(ctx, s, q.CloudRequest, wire.CloudParts{
		Platform: "aws", Region: a.free.Region, Caller: a.Target.Caller.ARN,
		Target: a.Target, Cluster: a.Target.Cluster, Store: a.Target.Store(), Gate: gate,
		Flags: spec.AWSFlags(), New: func() spec.Cluster { return new(spec.AWS) }, MasterSetting: "master-instance-type",
		Logs: a.openLogs(),
	})
}

// readRecord reads the record. Without one, it makes sure that the cluster is not in another region.
func (a *opened) readRecord(ctx context.Context, q Request, account string) error {
	err := a.ReadRecord(ctx, control.Open(a.free, q.Cluster, account))
	if err == nil && a.Known {
		return nil
	}
	home, openErr := api.Open(ctx, api.Options{Region: homeRegion, Profile: q.Profile, Log: q.Log})
	if openErr != nil {
		return openErr
	}
	if elsewhere := checkRegion(ctx, home, a.free.Region, q.Cluster, account); elsewhere != nil {
		return elsewhere
	}
	return err
}

// OpenRemembered opens a cluster as it is recorded, at the location that q gives.
func OpenRemembered(ctx context.Context, s *term.Streams, q Request) (*wire.CloudCluster, error) {
	var err error
	if q.Region, err = RegionOf(ctx, q); err != nil {
		return nil, err
	}
	q.CloudRequest = q.AsRemembered()
	return Open(ctx, s, q)
}

// openClients opens clients for the cluster's region and returns the identity of the caller.
func openClients(ctx context.Context, q Request) (a *opened, who facts.Caller, err error) {
	region, who, err := locate(ctx, q)
	if err != nil {
		return nil, who, err
	}
	a = &opened{}
	if a.free, err = api.Open(ctx, api.Options{Region: region, Profile: q.Profile, Log: q.Log}); err != nil || who.Account != "" {
		return a, who, err
	}
	who, err = facts.Facts{Clients: a.free}.Caller(ctx)
	return a, who, err
}

// targetConfig returns the part of the target's configuration that follows from given and recorded
// settings.
func (a *opened) targetConfig(q Request) (aws.Config, error) {
	r, err := wire.ReadSettings[spec.AWS, layout.Known](q.CloudRequest, a.Opened, spec.AWSFlags(), map[string]string{"region": a.free.Region})
	if err != nil {
		return aws.Config{}, err
	}
	if r.Unread {
		r.Spec = spec.AWS{Common: spec.Common{Cluster: q.Cluster}, Region: a.free.Region}
	}
	a.Unread = r.Reason
	c := aws.Config{Layout: layout.Layout{Spec: r.Spec, Known: r.Known}, Unread: r.Unread}
	c.Options, err = q.Options(r.All, secret.AWS, storage.SecretSource{Secrets: a.free.Secrets})
	return c, err
}
