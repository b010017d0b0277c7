// Package facts asks Amazon what there is to choose from: regions and zones,
// instance types with their GPUs and where they are offered, images, key pairs,
// and how much of each the account may still have. Everything is asked live, so
// that a new instance type needs no new release. It changes nothing.
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

// Facts answers questions about one account and region.
type Facts struct {
	Clients api.Clients
}

// Caller is who asks.
type Caller struct {
	// Account is twelve digits.
	Account string
	// ARN is the user, or the session of a role.
	ARN string
	// Partition is "aws" everywhere but in China and for governments.
	Partition string
}

// Principal is what policies are attached to: the ARN itself, or for a session
// its role. The role's path is not in a session's ARN, so a role with a path is
// named without it.
func (c Caller) Principal() string {
	head, session, ok := strings.Cut(c.ARN, ":assumed-role/")
	if !ok {
		return c.ARN
	}
	role, _, _ := strings.Cut(session, "/")
	return strings.Replace(head, ":sts:", ":iam:", 1) + ":role/" + role
}

// singleSignOn is the path of the roles that single sign-on makes.
const singleSignOn = "/aws-reserved/sso.amazonaws.com/"

// Principal is what policies are attached to, with its path where it is a role of
// single sign-on: a simulation does not find the role without.
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
			return plain // the simulation says that it does not find the role
		}
		for _, r := range page.Roles {
			if aws.ToString(r.RoleName) == name {
				return aws.ToString(r.Arn)
			}
		}
	}
	return plain
}

// Root reports whether the caller is the account itself, whose permissions
// cannot be simulated and need not be.
func (c Caller) Root() bool { return strings.HasSuffix(c.ARN, ":root") }

// Caller asks who we are.
func (f Facts) Caller(ctx context.Context) (Caller, error) {
	out, err := f.Clients.STS.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return Caller{}, fmt.Errorf("ask AWS who the caller is: %w", err)
	}
	c := Caller{Account: aws.ToString(out.Account), ARN: aws.ToString(out.Arn), Partition: "aws"}
	if parts := strings.Split(c.ARN, ":"); len(parts) > 1 && parts[1] != "" {
		c.Partition = parts[1]
	}
	return c, nil
}

// Regions lists the regions that the account may use.
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

// Zones lists the region's ordinary zones that are in order. Local zones and
// Wavelength have few instance types and subnets of their own kind.
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

// KeyPairs lists the key pairs of the region.
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
