package gcp

import (
	"context"
	"errors"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/installer/target/gcp/checks"
	"github.com/det-deploy/det-deploy/installer/target/gcp/layout"
)

// Explain adds to a denied call all disabled APIs and missing permissions, because Google names only those of
// the first call. It returns other errors unchanged.
func Explain(ctx context.Context, q Request, denied error) error {
	if cloud.KindOf(denied) != cloud.Denied {
		return denied
	}
	var err error
	if q.Project, err = ProjectOf(ctx, q); err != nil {
		return denied
	}
	c, err := q.openClients(ctx, api.Options{Region: q.Region, AnyRegion: true, Log: q.Log})
	if err != nil {
		return denied
	}
	s := checks.Subject{Layout: layout.Layout{Spec: q.wantedSpec(c)}, Clients: c, Caller: facts.Caller{Project: c.Project}}
	if s.Caller.Identity, err = c.Identity(ctx); err != nil {
		return denied
	}
	if failed := doctor.Run(ctx, s.Access()).Err(); failed != nil {
		return errors.Join(failed, denied)
	}
	return denied
}

// wantedSpec returns the given settings without those of the record, or the defaults if they are incomplete.
func (q Request) wantedSpec(c api.Clients) spec.GCP {
	place := map[string]string{"project": c.Project, "region": c.Region}
	r, err := wire.ReadSettings[spec.GCP, layout.Known](q.CloudRequest, wire.Opened{}, spec.GCPFlags(), place)
	if err != nil {
		return spec.DefaultGCP()
	}
	return r.Spec
}
