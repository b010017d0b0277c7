package infra

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// The tags by which everything is found again.
const (
	// ClusterTag holds the cluster's id, on everything.
	ClusterTag = "det-deploy-cluster"
	// NonceTag holds the mark of the call that made the object, where the API
	// has no token of its own.
	NonceTag = "det-deploy-nonce"
	// ResourceTag holds which of the cluster's resources an object is
	// ("master"). Names can be changed by whoever likes a tidy console.
	ResourceTag = "det-deploy-resource"
	// PoolTag holds the pool that a machine was launched for.
	PoolTag = "det-deploy-pool"
	// RetainTag holds whether a log group or a secret outlives `down`.
	RetainTag = "det-deploy-retain"
	// OpensTag holds what of the user's own a secret opens: data that no inventory
	// lists, and that stays whatever becomes of the cluster.
	OpensTag = "det-deploy-opens"
	// NameTag is what the console shows.
	NameTag = "Name"
)

const (
	retainYes = "yes"
	retainNo  = "no"
)

// displayName is how something of the cluster is called in the console.
func (c *Cluster) displayName(name string) string { return "det-" + c.ID + "-" + name }

// chosen are the tags that may change during the life of an object.
func (c *Cluster) chosen(name string) map[string]string {
	out := maps.Clone(c.Tags)
	if out == nil {
		out = make(map[string]string)
	}
	out[NameTag] = c.displayName(name)
	return out
}

// marks are all tags of a resource. The nonce may be empty.
func (c *Cluster) marks(name, nonce string) map[string]string {
	out := c.chosen(name)
	out[ClusterTag] = c.ID
	out[ResourceTag] = name
	if nonce != "" {
		out[NonceTag] = nonce
	}
	return out
}

// tagDrift compares tags. What the user's own tools added is left alone, and so
// is a tag that is no longer asked for: nobody can tell the two apart.
func tagDrift(have, want map[string]string) []resource.Drift {
	var out []resource.Drift
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if have[k] != want[k] {
			out = append(out, resource.Drift{Path: "tags." + k, Have: have[k], Want: want[k]})
		}
	}
	return out
}

// tagged returns the tags named in drift as they are wanted.
func tagged(drift []resource.Drift) map[string]string {
	out := make(map[string]string)
	for _, d := range drift {
		if k, ok := strings.CutPrefix(d.Path, "tags."); ok {
			out[k] = d.Want
		}
	}
	return out
}

// retag puts the tags named in drift onto an object of EC2.
func (c *Cluster) retag(ctx context.Context, id string, drift []resource.Drift) error {
	tags := tagged(drift)
	if len(tags) == 0 {
		return nil
	}
	return c.known(ctx, id, func() error {
		_, err := c.Clients.EC2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: ec2Tags(tags)})
		return err
	})
}

func ec2Tags(tags map[string]string) []types.Tag {
	return tagList(tags, func(k, v *string) types.Tag { return types.Tag{Key: k, Value: v} })
}

func ec2TagMap(tags []types.Tag) map[string]string {
	return tagMap(tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value })
}

// tagSpec marks what an EC2 call creates.
func tagSpec(kind types.ResourceType, tags map[string]string) []types.TagSpecification {
	return []types.TagSpecification{{ResourceType: kind, Tags: ec2Tags(tags)}}
}

// tagList turns tags into a service's own form, sorted by key.
func tagList[T any](tags map[string]string, form func(k, v *string) T) []T {
	out := make([]T, 0, len(tags))
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, form(aws.String(k), aws.String(tags[k])))
	}
	return out
}

func tagMap[T any](tags []T, parts func(T) (k, v *string)) map[string]string {
	out := make(map[string]string, len(tags))
	for _, t := range tags {
		k, v := parts(t)
		out[aws.ToString(k)] = aws.ToString(v)
	}
	return out
}
