package awstest

import (
	"cmp"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

// SetDiskKey sets the default KMS key for EBS encryption. An empty ARN means the AWS managed key.
func (w *World) SetDiskKey(arn string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.diskKey = arn
}

func (s *site) getDiskKey(*ec2.GetEbsDefaultKmsKeyIdInput) (*ec2.GetEbsDefaultKmsKeyIdOutput, error) {
	return &ec2.GetEbsDefaultKmsKeyIdOutput{KmsKeyId: aws.String(cmp.Or(s.diskKey, "alias/aws/ebs"))}, nil
}
