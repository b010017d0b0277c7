package wire

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/installer/target/aws/control"
)

// homeRegion answers what has no region: who the caller is, which buckets there
// are and where.
const homeRegion = "us-east-1"

// RegionOf is where the cluster is: where the user says, where its record is or what
// was kept of it, and for a new one where the environment points.
func RegionOf(ctx context.Context, q AWSRequest) (string, error) {
	if q.Region != "" {
		return q.Region, nil
	}
	if q.Given != nil {
		if named, _, err := q.Given.Lookup("region"); err != nil || named != "" {
			return named, err
		}
	}
	home, err := api.Open(ctx, api.Options{Region: homeRegion, Profile: q.Profile, Log: q.Log})
	if err != nil {
		return "", err
	}
	who, err := facts.Facts{Clients: home}.Caller(ctx)
	if err != nil {
		return "", err
	}
	// Of a cluster that was taken down its data may be there.
	for _, name := range []string{control.Name(q.Cluster, who.Account), storage.DataBucket(q.Cluster, who.Account)} {
		where, err := bucketRegion(ctx, home, name)
		if err == nil || cloud.KindOf(err) != cloud.NotFound {
			return where, err
		}
	}
	here, err := api.Open(ctx, api.Options{Profile: q.Profile})
	return here.Region, err
}

// regionIn is the region that settings name.
func regionIn(settings map[string]string) (string, error) {
	if settings["region"] != "" {
		return settings["region"], nil
	}
	named, _, err := spec.Given{File: []byte(settings[spec.FileSetting]), FileName: spec.FileSetting}.Lookup("region")
	return named, err
}

// bucketRegion asks where a bucket is.
func bucketRegion(ctx context.Context, home api.Clients, name string) (string, error) {
	out, err := home.S3.GetBucketLocation(ctx, &s3.GetBucketLocationInput{Bucket: &name})
	if err != nil {
		return "", fmt.Errorf("ask where bucket %s is: %w", name, err)
	}
	switch where := string(out.LocationConstraint); where {
	case "": // how Amazon spells its first region
		return homeRegion, nil
	case "EU":
		return "eu-west-1", nil
	default:
		return where, nil
	}
}

// HostedCluster is a cluster of the account, as its control bucket tells.
type HostedCluster struct {
	Cluster string `json:"cluster"`
	Region  string `json:"region"`
	// Version is the det-deploy that it runs; empty while it is being made.
	Version string `json:"version"`
	// Ready is when `up` last saw it answer.
	Ready string `json:"ready,omitempty"`
	// Note is what is unusual: an upgrade under way, a record that is lost.
	Note string `json:"note,omitempty"`
}

// ListAWS lists the clusters of the caller's account: those of one region, or of
// all when it is empty.
func ListAWS(ctx context.Context, region, profile string) ([]HostedCluster, error) {
	home, err := api.Open(ctx, api.Options{Region: homeRegion, Profile: profile})
	if err != nil {
		return nil, err
	}
	who, err := facts.Facts{Clients: home}.Caller(ctx)
	if err != nil {
		return nil, err
	}
	names, err := listBuckets(ctx, home)
	if err != nil {
		return nil, err
	}
	out := []HostedCluster{}
	for _, name := range names {
		id, ours := control.ClusterOf(name, who.Account)
		if !ours {
			continue
		}
		c := HostedCluster{Cluster: id}
		if c.Region, err = bucketRegion(ctx, home, name); cloud.KindOf(err) == cloud.NotFound {
			continue // it went meanwhile
		} else if err != nil {
			return nil, err
		}
		if region != "" && c.Region != region {
			continue
		}
		if err := c.readRecord(ctx, profile, who.Account); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b HostedCluster) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return out, nil
}

// readRecord fills in what the record says.
func (c *HostedCluster) readRecord(ctx context.Context, profile, account string) error {
	clients, err := api.Open(ctx, api.Options{Region: c.Region, Profile: profile})
	if err != nil {
		return err
	}
	r, _, found, err := record.Read(ctx, control.Open(clients, c.Cluster, account))
	switch {
	case err != nil:
		c.Note = strings.TrimSpace(err.Error())
		return nil // one that cannot be read hides no other
	case !found:
		c.Note = "the record is lost; `det-deploy aws adopt --cluster-id " + c.Cluster + "` recreates it"
	case r.Upgrade != nil:
		c.Note = "an upgrade to " + r.Upgrade.To.String() + " is under way"
	case r.Ready.IsZero():
		c.Note = "not finished; `det-deploy aws up --cluster-id " + c.Cluster + "` continues"
	}
	c.Version = r.Release.Version
	if !r.Ready.IsZero() {
		c.Ready = r.Ready.Format("2006-01-02T15:04:05Z07:00")
	}
	return nil
}

func listBuckets(ctx context.Context, c api.Clients) ([]string, error) {
	var names []string
	in := &s3.ListBucketsInput{}
	for {
		out, err := c.S3.ListBuckets(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("list buckets: %w", err)
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

// DefaultRegion is the region that the environment or the profile chooses.
func DefaultRegion(ctx context.Context, profile string) (string, error) {
	c, err := api.Open(ctx, api.Options{Profile: profile})
	return c.Region, err
}
