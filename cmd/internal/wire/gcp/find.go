package gcp

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/target/gcp/control"
)

// bucketPrefix is the prefix of the names of control buckets.
const bucketPrefix = "det-deploy-"

// Place is the location of a cluster.
type Place struct {
	Project string
	// Number is the project number, which is part of bucket names.
	Number uint64
	Region string
}

// Locate returns the location of a cluster: the given one, or that of its record or of its kept data, or
// for a new cluster the environment's.
func Locate(ctx context.Context, q Request) (Place, error) {
	p, _, err := locate(ctx, q)
	return p, err
}

// FindRegion returns the region of a cluster like Locate, or "" for a new cluster.
func FindRegion(ctx context.Context, q Request) (string, error) {
	p, _, _, err := find(ctx, q)
	return p.Region, err
}

// locate implements Locate. It also returns the caller's identity.
func locate(ctx context.Context, q Request) (Place, facts.Caller, error) {
	p, who, c, err := find(ctx, q)
	p.Region = cmp.Or(p.Region, c.Region)
	return p, who, err
}

// find returns the location of a cluster, without a region if it is new, and the clients that it used.
func find(ctx context.Context, q Request) (p Place, who facts.Caller, c api.Clients, err error) {
	project, err := ProjectOf(ctx, q)
	if err != nil {
		return p, who, c, err
	}
	q.Project = project
	c, err = q.openClients(ctx, api.Options{Region: q.Region, AnyRegion: true, Log: q.Log})
	if err != nil {
		return p, who, c, err
	}
	if who, err = (facts.Facts{Clients: c}).Caller(ctx); err != nil {
		return p, who, c, err
	}
	p = Place{Project: c.Project, Number: who.Number, Region: q.Region}
	if p.Region != "" {
		return p, who, c, nil
	}
	if p.Region, err = q.Named("region"); err != nil || p.Region != "" {
		return p, who, c, err
	}
	p.Region, err = regionOf(ctx, c, q.Cluster, who.Number)
	return p, who, c, err
}

// ProjectOf returns the given project, or else the environment's. It is empty if neither is set.
func ProjectOf(ctx context.Context, q Request) (string, error) {
	if q.Project != "" {
		return q.Project, nil
	}
	if named, err := q.Named("project"); err != nil || named != "" {
		return named, err
	}
	c, err := q.openClients(ctx, api.Options{AnyRegion: true, AnyProject: true})
	return c.Project, err
}

// regionOf returns the region of the cluster's buckets, of which the data bucket may remain after the
// cluster was removed. It returns "" if there are none.
func regionOf(ctx context.Context, c api.Clients, cluster string, project uint64) (string, error) {
	for _, name := range []string{control.Name(cluster, project), storage.DataBucket(cluster, project)} {
		b, err := api.Do(ctx, c.Storage.Buckets.Get(name))
		switch kind := cloud.KindOf(err); {
		case kind == cloud.NotFound || kind == cloud.Denied: // a denied bucket belongs to another project, or the error is reported when it is read
		case err != nil:
			return "", err
		case b.ProjectNumber == project:
			return strings.ToLower(b.Location), nil
		}
	}
	return "", nil
}

// List lists the clusters of a project in one region, or in all if region is empty.
func List(ctx context.Context, region string, a Account) ([]wire.ListedCluster, error) {
	c, err := a.openClients(ctx, api.Options{AnyRegion: true})
	if err != nil {
		return nil, err
	}
	who, err := facts.Facts{Clients: c}.Caller(ctx)
	if err != nil {
		return nil, err
	}
	buckets, err := c.ListBuckets(ctx, bucketPrefix)
	if err != nil {
		return nil, err
	}
	out := []wire.ListedCluster{}
	for _, b := range buckets {
		id, ours := control.ClusterOf(b.Name, who.Number)
		one := wire.ListedCluster{Cluster: id, Region: strings.ToLower(b.Location), Account: a.flags(c.Project)}
		if !ours || region != "" && one.Region != region {
			continue
		}
		r, _, found, err := record.Read(ctx, control.Open(c, id, who.Number))
		one.AddRecord("gcp", r, found, err)
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b wire.ListedCluster) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return out, nil
}
