package mark

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// The tags that identify the objects of a cluster.
const (
	// ClusterTag holds the cluster ID, on all objects.
	ClusterTag = "det-deploy-cluster"
	// NonceTag holds the nonce of the call that created the object, if the API has no idempotency
	// token.
	NonceTag = "det-deploy-nonce"
	// ResourceTag holds the name of the resource ("master"). Users of the console can change the
	// Name tag.
	ResourceTag = "det-deploy-resource"
	// RetainTag holds whether `down` retains a log group or a secret.
	RetainTag = "det-deploy-retain"
	// OpensTag describes the existing data of the user that a secret belongs to. No inventory lists
	// this data, and it remains after the deletion of the cluster.
	OpensTag = "det-deploy-opens"
	// DigestTag holds a salted digest of a secret given by the user.
	DigestTag = "det-deploy-digest"
	// BlankTag holds whether a volume was created empty and never attached to an instance. EC2 does
	// not record this.
	BlankTag = "det-deploy-blank"
	// NameTag is displayed in the console.
	NameTag = "Name"
)

// The values of RetainTag.
const (
	RetainYes = "yes"
	RetainNo  = "no"
)

// The values of BlankTag.
const (
	BlankYes = "yes"
	BlankNo  = "no"
)

// DisplayName returns the Name tag of an object.
func (c *Cluster) DisplayName(name string) string { return "det-" + c.ID + "-" + name }

// ChangingTags returns the tags that may change during the lifetime of an object.
func (c *Cluster) ChangingTags(name string) map[string]string {
	out := maps.Clone(c.Tags)
	if out == nil {
		out = make(map[string]string)
	}
	out[NameTag] = c.DisplayName(name)
	return out
}

// Marks returns all tags of a resource. The nonce may be empty.
func (c *Cluster) Marks(name, nonce string) map[string]string {
	out := c.ChangingTags(name)
	out[ClusterTag] = c.ID
	out[ResourceTag] = name
	if nonce != "" {
		out[NonceTag] = nonce
	}
	return out
}

// Retag sets tags on an EC2 object.
func (c *Cluster) Retag(ctx context.Context, id string, tags map[string]string) error {
	return c.Waiter().RetryUntilKnown(ctx, id, func() error {
		_, err := c.Clients.EC2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: ec2Tags(tags)})
		return err
	})
}

func ec2Tags(tags map[string]string) []types.Tag {
	return TagList(tags, func(k, v *string) types.Tag { return types.Tag{Key: k, Value: v} })
}

// EC2TagMap converts EC2 tags to a map.
func EC2TagMap(tags []types.Tag) map[string]string {
	return TagMap(tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value })
}

// TagSpec returns the tag specification for a creating EC2 call.
func TagSpec(kind types.ResourceType, tags map[string]string) []types.TagSpecification {
	return []types.TagSpecification{{ResourceType: kind, Tags: ec2Tags(tags)}}
}

// TagList converts tags to a service's type, sorted by key.
func TagList[T any](tags map[string]string, form func(k, v *string) T) []T {
	out := make([]T, 0, len(tags))
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, form(aws.String(k), aws.String(tags[k])))
	}
	return out
}

// TagMap converts tags of a service's type to a map.
func TagMap[T any](tags []T, parts func(T) (k, v *string)) map[string]string {
	out := make(map[string]string, len(tags))
	for _, t := range tags {
		k, v := parts(t)
		out[aws.ToString(k)] = aws.ToString(v)
	}
	return out
}
