package mark

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// The tags by which everything is found again.
const (
	// ClusterTag holds the cluster's id, on everything.
	ClusterTag = "det-deploy-cluster"
	// NonceTag holds the mark of the call that made the object, where the API
	// has no token of its own.
	NonceTag = "det-deploy-nonce"
	// ResourceTag holds which of the cluster's resources an object is
	// ("master"). Names can be changed by users of the console.
	ResourceTag = "det-deploy-resource"
	// RetainTag holds whether a log group or a secret outlives `down`.
	RetainTag = "det-deploy-retain"
	// OpensTag holds what of the user's own a secret opens: data that no inventory
	// lists, and that stays whatever becomes of the cluster.
	OpensTag = "det-deploy-opens"
	// DigestTag holds a salted digest of a given secret.
	DigestTag = "det-deploy-digest"
	// BlankTag holds whether a volume was made from nothing and no machine has ever had it.
	// Amazon does not remember.
	BlankTag = "det-deploy-blank"
	// NameTag is what the console shows.
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

// DisplayName is how something of the cluster is called in the console.
func (c *Cluster) DisplayName(name string) string { return "det-" + c.ID + "-" + name }

// ChangingTags are the tags that may change during the life of an object.
func (c *Cluster) ChangingTags(name string) map[string]string {
	out := maps.Clone(c.Tags)
	if out == nil {
		out = make(map[string]string)
	}
	out[NameTag] = c.DisplayName(name)
	return out
}

// Marks are all tags of a resource. The nonce may be empty.
func (c *Cluster) Marks(name, nonce string) map[string]string {
	out := c.ChangingTags(name)
	out[ClusterTag] = c.ID
	out[ResourceTag] = name
	if nonce != "" {
		out[NonceTag] = nonce
	}
	return out
}

// Retag puts tags onto an object of EC2.
func (c *Cluster) Retag(ctx context.Context, id string, tags map[string]string) error {
	return c.Waiter().RetryUntilKnown(ctx, id, func() error {
		_, err := c.Clients.EC2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: ec2Tags(tags)})
		return err
	})
}

func ec2Tags(tags map[string]string) []types.Tag {
	return TagList(tags, func(k, v *string) types.Tag { return types.Tag{Key: k, Value: v} })
}

// EC2TagMap is the tags of an object of EC2.
func EC2TagMap(tags []types.Tag) map[string]string {
	return TagMap(tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value })
}

// TagSpec marks what an EC2 call creates.
func TagSpec(kind types.ResourceType, tags map[string]string) []types.TagSpecification {
	return []types.TagSpecification{{ResourceType: kind, Tags: ec2Tags(tags)}}
}

// TagList turns tags into a service's own form, sorted by key.
func TagList[T any](tags map[string]string, form func(k, v *string) T) []T {
	out := make([]T, 0, len(tags))
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, form(aws.String(k), aws.String(tags[k])))
	}
	return out
}

// TagMap reads tags in a service's own form.
func TagMap[T any](tags []T, parts func(T) (k, v *string)) map[string]string {
	out := make(map[string]string, len(tags))
	for _, t := range tags {
		k, v := parts(t)
		out[aws.ToString(k)] = aws.ToString(v)
	}
	return out
}
