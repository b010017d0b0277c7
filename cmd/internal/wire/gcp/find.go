package gcp

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
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

// checkRegion returns an error if the cluster, or its kept data, is in another region than that of --region.
// It returns nil if that cannot be determined.
func checkRegion(ctx context.Context, c api.Clients, q Request, project uint64) error {
	if q.Region == "" {
		return nil
	}
	where, err := regionOf(ctx, c, q.Cluster, project)
	if err != nil || where == "" || where == q.Region {
		return nil //nolint:nilerr // the calls that follow report the error
	}
	return &cloud.Error{
		Kind: cloud.Invalid, Op: "open the cluster", Resource: q.Cluster, Fix: "set --region " + where,
		Err: fmt.Errorf("it, or the data that it has left, is in %s and not in %s", where, q.Region),
	}
}

// Known lists the clusters of a project with their regions, without their records.
func Known(ctx context.Context, a Account) ([]wire.ListedCluster, error) {
	all, _, _, err := known(ctx, a)
	return all, err
}

// known implements Known. It also returns the clients that it used, and the project number.
func known(ctx context.Context, a Account) (out []wire.ListedCluster, c api.Clients, project uint64, err error) {
	c, err = a.openClients(ctx, api.Options{AnyRegion: true})
	if err != nil {
		return nil, c, 0, err
	}
	who, err := facts.Facts{Clients: c}.Caller(ctx)
	if err != nil {
		return nil, c, 0, err
	}
	buckets, err := c.ListBuckets(ctx, bucketPrefix)
	if err != nil {
		return nil, c, 0, err
	}
	for _, b := range buckets {
		if id, ours := control.ClusterOf(b.Name, who.Number); ours {
			out = append(out, wire.ListedCluster{Cluster: id, Region: strings.ToLower(b.Location), Account: a.flags(c.Project)})
		}
	}
	slices.SortFunc(out, func(a, b wire.ListedCluster) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return out, c, who.Number, nil
}

// List lists the clusters of a project in one region, or in all if region is empty.
func List(ctx context.Context, region string, a Account) ([]wire.ListedCluster, error) {
	all, c, project, err := known(ctx, a)
	if err != nil {
		return nil, err
	}
	out := []wire.ListedCluster{}
	for _, one := range all {
		if region != "" && one.Region != region {
			continue
		}
		one.AddRecord(ctx, "gcp", control.Open(c, one.Cluster, project))
		out = append(out, one)
	}
	return out, nil
}
