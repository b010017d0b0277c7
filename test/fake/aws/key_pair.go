package awstest

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// describeKeyPairs returns a single page. The key pairs "lab" and "spare" exist from the start.
func (s *site) describeKeyPairs(in *ec2.DescribeKeyPairsInput) (*ec2.DescribeKeyPairsOutput, error) {
	all, err := find(s.ec2.keys, in.KeyNames, in.Filters, look[types.KeyPairInfo]{
		absent: "InvalidKeyPair.NotFound",
		tags:   func(v types.KeyPairInfo) []types.Tag { return v.Tags },
		field: func(v types.KeyPairInfo, name string) ([]string, bool) {
			if name == "key-name" {
				return []string{aws.ToString(v.KeyName)}, true
			}
			return nil, false
		},
	})
	return &ec2.DescribeKeyPairsOutput{KeyPairs: all}, err
}
