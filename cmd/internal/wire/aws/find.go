package aws

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer/target/aws/control"
)

// homeRegion is used for calls that need no particular region: the caller's identity, and the list and
// location of buckets.
const homeRegion = "us-east-1"

// RegionOf returns the region of a cluster: the given one, or that of its record or of its kept data, or
// for a new cluster the environment's.
func RegionOf(ctx context.Context, q Request) (string, error) {
	region, _, err := locate(ctx, q)
	return region, err
}

// FindRegion returns the region of a cluster like RegionOf, or "" for a new cluster.
func FindRegion(ctx context.Context, q Request) (string, error) {
	region, _, err := find(ctx, q)
	return region, err
}

// locate implements RegionOf. It also returns the caller's identity if it had to be determined.
func locate(ctx context.Context, q Request) (region string, who facts.Caller, err error) {
	if region, who, err = find(ctx, q); region != "" || err != nil {
		return region, who, err
	}
	here, err := api.Open(ctx, api.Options{Profile: q.Profile})
	return here.Region, who, err
}

// find implements FindRegion.
func find(ctx context.Context, q Request) (region string, who facts.Caller, err error) {
	if q.Region != "" {
		return q.Region, who, nil
	}
	if named, err := q.Named("region"); err != nil || named != "" {
		return named, who, err
	}
	home, err := api.Open(ctx, api.Options{Region: homeRegion, Profile: q.Profile, Log: q.Log})
	if err != nil {
		return "", who, err
	}
	if who, err = (facts.Facts{Clients: home}).Caller(ctx); err != nil {
		return "", who, err
	}
	region, err = clusterRegion(ctx, home, q.Cluster, who.Account)
	return region, who, err
}

// clusterRegion returns the region of a cluster or of its kept data, or "" if there is neither.
func clusterRegion(ctx context.Context, c api.Clients, cluster, account string) (string, error) {
	// The data bucket may remain after the cluster was removed.
	names := []string{control.Name(cluster, account), storage.DataBucket(cluster, account)}
	regions, errs := make([]string, len(names)), make([]error, len(names))
	var asked sync.WaitGroup
	for i, name := range names {
		asked.Go(func() { regions[i], errs[i] = bucketRegion(ctx, c, name) })
	}
	asked.Wait()
	for i, where := range regions {
		if cloud.KindOf(errs[i]) != cloud.NotFound {
			return where, errs[i]
		}
	}
	return "", nil
}

// checkRegion returns an error if the cluster, or its kept data, is in another region than the given one.
// It returns nil if that cannot be determined.
func checkRegion(ctx context.Context, home api.Clients, region, cluster, account string) error {
	where, err := clusterRegion(ctx, home, cluster, account)
	if err != nil || where == "" || where == region {
		return nil //nolint:nilerr // the calls that follow report the error
	}
	return &cloud.Error{
		Kind: cloud.Invalid, Op: "open the cluster", Resource: cluster,
		Fix: "set --region " + where + ", or choose another --cluster-id for a second cluster",
		Err: fmt.Errorf("it, or the data that it has left, is in %s and not in %s", where, region),
	}
}

// bucketRegion returns the region of a bucket.
func bucketRegion(ctx context.Context, home api.Clients, name string) (string, error) {
	out, err := home.S3.GetBucketLocation(ctx, &s3.GetBucketLocationInput{Bucket: &name})
	if err != nil {
		return "", fmt.Errorf("cannot determine the region of bucket %s: %w", name, err)
	}
	switch where := string(out.LocationConstraint); where {
	case "": // S3 reports us-east-1 as an empty location
		return homeRegion, nil
	case "EU":
		return "eu-west-1", nil
	default:
		return where, nil
	}
}

// Known lists the clusters of the caller's account with their regions, without their records.
func Known(ctx context.Context, profile string) ([]wire.ListedCluster, error) {
	all, _, err := known(ctx, profile)
	return all, err
}

// known implements Known. It also returns the account.
func known(ctx context.Context, profile string) (out []wire.ListedCluster, account string, err error) {
	home, err := api.Open(ctx, api.Options{Region: homeRegion, Profile: profile})
	if err != nil {
		return nil, "", err
	}
	who, err := facts.Facts{Clients: home}.Caller(ctx)
	if err != nil {
		return nil, "", err
	}
	names, err := listBuckets(ctx, home)
	if err != nil {
		return nil, "", err
	}
	for _, name := range names {
		id, ours := control.ClusterOf(name, who.Account)
		if !ours {
			continue
		}
		region, err := bucketRegion(ctx, home, name)
		if cloud.KindOf(err) == cloud.NotFound {
			continue // it was deleted in the meantime
		}
		if err != nil {
			return nil, "", err
		}
		out = append(out, wire.ListedCluster{Cluster: id, Region: region})
	}
	slices.SortFunc(out, func(a, b wire.ListedCluster) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return out, who.Account, nil
}

// List lists the clusters of the caller's account in one region, or in all if region is empty.
func List(ctx context.Context, region, profile string) ([]wire.ListedCluster, error) {
	all, account, err := known(ctx, profile)
	if err != nil {
		return nil, err
	}
	out := []wire.ListedCluster{}
	for _, c := range all {
		if region != "" && c.Region != region {
			continue
		}
		if err := readRecord(ctx, &c, profile, account); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// readRecord fills in c from the cluster's record.
func readRecord(ctx context.Context, c *wire.ListedCluster, profile, account string) error {
	clients, err := api.Open(ctx, api.Options{Region: c.Region, Profile: profile})
	if err != nil {
		return err
	}
	c.AddRecord(ctx, "aws", control.Open(clients, c.Cluster, account))
	return nil
}

func listBuckets(ctx context.Context, c api.Clients) ([]string, error) {
	var names []string
	in := &s3.ListBucketsInput{}
	for {
		out, err := c.S3.ListBuckets(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("cannot list buckets: %w", err)
		}
		for _, b := range out.Buckets {
			names = append(names, *b.Name)
		}
		if out.ContinuationToken == nil || *out.ContinuationToken == "" {
			return names, nil
		}
		in.ContinuationToken = out.ContinuationToken
	}
}

// DefaultRegion returns the region selected by the environment or the profile.
func DefaultRegion(ctx context.Context, profile string) (string, error) {
	c, err := api.Open(ctx, api.Options{Profile: profile})
	return c.Region, err
}
