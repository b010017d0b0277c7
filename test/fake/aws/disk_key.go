package awstest

import (
	"cmp"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

// SetDiskKey makes a KMS key the one that disks are encrypted with when a call
// names none. Empty is Amazon's own.
func (w *World) SetDiskKey(arn string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.diskKey = arn
}

func (s *site) getDiskKey(*ec2.GetEbsDefaultKmsKeyIdInput) (*ec2.GetEbsDefaultKmsKeyIdOutput, error) {
	return &ec2.GetEbsDefaultKmsKeyIdOutput{KmsKeyId: aws.String(cmp.Or(s.diskKey, "alias/aws/ebs"))}, nil
}
