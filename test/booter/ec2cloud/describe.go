package ec2cloud

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	motest "github.com/det-deploy/det-deploy/test/moto"
)

// describeMetadata returns the metadata service of an instance.
func (c *Cloud) describeMetadata(ctx context.Context, i types.Instance) (*metadata, error) {
	id, private := aws.ToString(i.InstanceId), aws.ToString(i.PrivateIpAddress)
	data, err := c.userData(ctx, id)
	if err != nil {
		return nil, err
	}
	m := newMetadata()
	m.userData = data
	for path, text := range map[string]string{
		"ami-id": aws.ToString(i.ImageId), "instance-id": id, "instance-type": string(i.InstanceType), "instance-life-cycle": lifecycle(i),
		"placement/availability-zone": aws.ToString(i.Placement.AvailabilityZone), "placement/region": motest.Region,
		"local-ipv4": private, "local-hostname": aws.ToString(i.PrivateDnsName), "hostname": aws.ToString(i.PrivateDnsName),
		"public-ipv4": aws.ToString(i.PublicIpAddress), "public-hostname": aws.ToString(i.PublicDnsName),
		"services/domain": "amazonaws.com", "services/partition": "aws",
	} {
		m.set("meta-data/"+path, text)
	}
	m.setJSON("dynamic/instance-identity/document", map[string]string{
		"accountId": c.account.ID, "architecture": string(i.Architecture), "availabilityZone": aws.ToString(i.Placement.AvailabilityZone),
		"imageId": aws.ToString(i.ImageId), "instanceId": id, "instanceType": string(i.InstanceType),
		"privateIp": private, "region": motest.Region, "version": "2017-09-30",
	})
	if i.IamInstanceProfile == nil {
		return m, nil
	}
	return m, c.giveRole(ctx, m, id, aws.ToString(i.IamInstanceProfile.Arn))
}

func lifecycle(i types.Instance) string {
	if i.InstanceLifecycle == types.InstanceLifecycleTypeSpot {
		return "spot"
	}
	return "on-demand"
}

// giveRole serves temporary credentials for the role of the instance profile. As on EC2, the
// session is named by the instance ID.
func (c *Cloud) giveRole(ctx context.Context, m *metadata, id, profileARN string) error {
	name := profileARN[strings.LastIndex(profileARN, "/")+1:]
	out, err := iam.NewFromConfig(c.account.Config()).GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &name})
	if err != nil || len(out.InstanceProfile.Roles) == 0 {
		return err
	}
	role := out.InstanceProfile.Roles[0]
	m.role = aws.ToString(role.RoleName)
	m.set("meta-data/iam/security-credentials/"+m.role, "keys")
	m.setJSON("meta-data/iam/info", map[string]string{"Code": "Success", "InstanceProfileArn": profileARN, "InstanceProfileId": "AIPA"})
	m.keys = func() (string, error) {
		out, err := sts.NewFromConfig(c.account.Config()).AssumeRole(ctx, &sts.AssumeRoleInput{RoleArn: role.Arn, RoleSessionName: &id})
		if err != nil {
			return "", err
		}
		now := time.Now().UTC()
		text, err := json.Marshal(map[string]string{
			"Code": "Success", "Type": "AWS-HMAC", "LastUpdated": now.Format(time.RFC3339), "Expiration": now.Add(6 * time.Hour).Format(time.RFC3339),
			"AccessKeyId": *out.Credentials.AccessKeyId, "SecretAccessKey": *out.Credentials.SecretAccessKey, "Token": *out.Credentials.SessionToken,
		})
		return string(text), err
	}
	return nil
}
