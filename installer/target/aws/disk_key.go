package aws

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/installer/doctor"
)

// diskKey asks with which KMS key disks are encrypted. Who may not ask keeps what
// was known: Amazon's own key needs no permission.
func (l *looking) diskKey(ctx context.Context) error {
	out, err := l.Clients.EC2.GetEbsDefaultKmsKeyId(ctx, &ec2.GetEbsDefaultKmsKeyIdInput{})
	switch cloud.KindOf(err) {
	case "":
		l.known.DiskKey = aws.ToString(out.KmsKeyId)
	case cloud.Denied, cloud.Unknown:
	default:
		return fmt.Errorf("ask which key disks are encrypted with: %w", err)
	}
	return nil
}

// diskKeys are the keys that a role which launches machines must be allowed to use:
// none where disks are encrypted with Amazon's own.
func (k Known) diskKeys() []string {
	if !strings.HasPrefix(k.DiskKey, "arn:") || !strings.Contains(k.DiskKey, ":key/") {
		return nil
	}
	return []string{k.DiskKey}
}

// diskKey tells which key disks are encrypted with. That caller and roles may use
// it is part of their permissions; what the key's own policy says is not looked at.
func (c *checks) diskKey(context.Context) doctor.Result {
	switch keys := c.Known.diskKeys(); {
	case len(keys) > 0:
		return doctor.Passed("%s is the account's own; its policy must let the account's users and roles use it, which is not looked at", keys[0])
	case c.Known.DiskKey == "" || c.Known.DiskKey == "alias/aws/ebs":
		return doctor.Passed("Amazon's own key")
	}
	return doctor.Unsure(
		"disks are encrypted with "+c.Known.DiskKey, "a key that is given by its ARN, so that roles can be allowed to use it",
		"name the key itself with `aws ec2 modify-ebs-default-kms-key-id`, or machines may end with Client.InternalError",
	)
}
