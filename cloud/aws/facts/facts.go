// Package facts queries AWS for the available options: regions and zones, instance types with their
// GPUs and the zones that offer them, images, key pairs, and the remaining quotas. It queries them
// live, so that new instance types need no new release. It makes read-only calls only.
package facts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
)

// Facts queries one account and region.
type Facts struct {
	Clients api.Clients
}

// Caller is the identity of the caller.
type Caller struct {
	// Account is the account ID, twelve digits.
	Account string
	// ARN is the ARN of a user or of a role session.
	ARN string
	// Partition is "aws", or another partition in China and for governments.
	Partition string
}

// Principal returns the principal to which policies are attached: the ARN itself, or the role of a
// session. A session's ARN does not contain the role's path, so the path is missing in the result.
func (c Caller) Principal() string {
	head, session, ok := strings.Cut(c.ARN, ":assumed-role/")
	if !ok {
		return c.ARN
	}
	role, _, _ := strings.Cut(session, "/")
	return strings.Replace(head, ":sts:", ":iam:", 1) + ":role/" + role
}

// singleSignOn is the path of the roles created by IAM Identity Center.
const singleSignOn = "/aws-reserved/sso.amazonaws.com/"

// Principal returns the principal to which policies are attached. For a role of IAM Identity Center
// it includes the path, because a policy simulation does not find the role without it.
func (f Facts) Principal(ctx context.Context, c Caller) string {
	plain := c.Principal()
	name := plain[strings.LastIndex(plain, "/")+1:]
	if !strings.HasPrefix(name, "AWSReservedSSO_") {
		return plain
	}
	p := iam.NewListRolesPaginator(f.Clients.IAM, &iam.ListRolesInput{PathPrefix: aws.String(singleSignOn)})
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			return plain // the simulation reports that it cannot find the role
		}
		for _, r := range page.Roles {
			if aws.ToString(r.RoleName) == name {
				return aws.ToString(r.Arn)
			}
		}
	}
	return plain
}

// Root reports whether the caller is the root user of the account. A root user has all permissions,
// which cannot be simulated.
func (c Caller) Root() bool { return strings.HasSuffix(c.ARN, ":root") }

// Caller returns the identity of the caller.
func (f Facts) Caller(ctx context.Context) (Caller, error) {
	out, err := f.Clients.STS.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return Caller{}, fmt.Errorf("get the caller identity: %w", err)
	}
	c := Caller{Account: aws.ToString(out.Account), ARN: aws.ToString(out.Arn), Partition: "aws"}
	if parts := strings.Split(c.ARN, ":"); len(parts) > 1 && parts[1] != "" {
		c.Partition = parts[1]
	}
	return c, nil
}

// Regions returns the regions that are enabled for the account.
func (f Facts) Regions(ctx context.Context) ([]string, error) {
	out, err := f.Clients.EC2.DescribeRegions(ctx, &ec2.DescribeRegionsInput{})
	if err != nil {
		return nil, fmt.Errorf("list regions: %w", err)
	}
	var names []string
	for _, r := range out.Regions {
		names = append(names, aws.ToString(r.RegionName))
	}
	slices.Sort(names)
	return names, nil
}

// Zones returns the available standard zones of the region. Local Zones and Wavelength Zones are
// excluded, because they offer few instance types and require special subnets.
func (f Facts) Zones(ctx context.Context) ([]string, error) {
	out, err := f.Clients.EC2.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{
		Filters: []types.Filter{{Name: aws.String("state"), Values: []string{"available"}}},
	})
	if err != nil {
		return nil, fmt.Errorf("list the zones of %s: %w", f.Clients.Region, err)
	}
	var names []string
	for _, z := range out.AvailabilityZones {
		ordinary := z.ZoneType == nil || *z.ZoneType == "availability-zone"
		if ordinary && (z.State == "" || z.State == types.AvailabilityZoneStateAvailable) {
			names = append(names, aws.ToString(z.ZoneName))
		}
	}
	slices.Sort(names)
	return names, nil
}

// KeyPairs returns the names of the region's key pairs.
func (f Facts) KeyPairs(ctx context.Context) ([]string, error) {
	out, err := f.Clients.EC2.DescribeKeyPairs(ctx, &ec2.DescribeKeyPairsInput{})
	if err != nil {
		return nil, fmt.Errorf("list key pairs: %w", err)
	}
	var names []string
	for _, k := range out.KeyPairs {
		names = append(names, aws.ToString(k.KeyName))
	}
	slices.Sort(names)
	return names, nil
}
