package awstest

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func tagOf(tags []types.Tag, key string) (string, bool) {
	for _, t := range tags {
		if aws.ToString(t.Key) == key {
			return aws.ToString(t.Value), true
		}
	}
	return "", false
}

// tagged returns the tags that a creating call sets on objects of one type.
func tagged(specs []types.TagSpecification, of types.ResourceType) []types.Tag {
	var out []types.Tag
	for _, s := range specs {
		if s.ResourceType == of {
			out = merged(out, s.Tags)
		}
	}
	return out
}

// merged returns old with more added. It copies the slice, so that earlier results do not change.
func merged(old, more []types.Tag) []types.Tag {
	out := slices.Clone(old)
	for _, t := range more {
		out = slices.DeleteFunc(out, func(o types.Tag) bool { return aws.ToString(o.Key) == aws.ToString(t.Key) })
		out = append(out, types.Tag{Key: t.Key, Value: aws.String(aws.ToString(t.Value))})
	}
	return out
}

// without returns old without less. A tag with a value is removed only if the value matches.
func without(old, less []types.Tag) []types.Tag {
	return slices.DeleteFunc(slices.Clone(old), func(o types.Tag) bool {
		return slices.ContainsFunc(less, func(t types.Tag) bool {
			return aws.ToString(t.Key) == aws.ToString(o.Key) && (t.Value == nil || *t.Value == aws.ToString(o.Value))
		})
	})
}
