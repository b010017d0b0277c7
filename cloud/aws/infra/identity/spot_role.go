package identity

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// SpotRoleName is the role that lets EC2 act for the account on spot machines. EC2
// creates it on a spot request of a caller that may create roles; the master may not.
const SpotRoleName = "AWSServiceRoleForEC2Spot"

// SpotRole is that role. It belongs to the account and to all that use spot machines
// in it, so it is made where it is missing and never removed.
type SpotRole struct {
	In *mark.Cluster

	infra.Learned
}

var _ resource.Resource = (*SpotRole)(nil)

// ID is "aws/service-linked-role/" and the role's name.
func (*SpotRole) ID() string { return mark.ResourceID(mark.KindSpotRole, SpotRoleName) }

// Kind is KindSpotRole.
func (*SpotRole) Kind() string { return mark.KindSpotRole }

// Needs nothing.
func (*SpotRole) Needs() []string { return nil }

// Describe says whose it is.
func (*SpotRole) Describe() []string {
	return []string{"the account's role for spot machines, which it never had; it stays when the cluster goes"}
}

// Find looks at it. The checks report a caller who may not, which is no error here:
// the role may well be there.
func (r *SpotRole) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	out, err := r.In.Clients.IAM.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String(SpotRoleName)})
	switch cloud.KindOf(err) {
	case cloud.NotFound:
		return resource.Found{}, nil, nil
	case cloud.Denied:
		r.Learn(SpotRoleName)
	default:
		if err != nil {
			return resource.Found{}, nil, err
		}
		r.Learn(aws.ToString(out.Role.Arn))
	}
	return resource.Found{Kind: mark.KindSpotRole, ID: r.Identity(), Name: SpotRoleName, Shared: true}, nil, nil
}

// Create makes it. Another caller may have done so meanwhile.
func (r *SpotRole) Create(ctx context.Context) error {
	_, err := r.In.Clients.IAM.CreateServiceLinkedRole(ctx, &iam.CreateServiceLinkedRoleInput{
		AWSServiceName: aws.String("spot.amazonaws.com"),
	})
	if cloud.KindOf(err) == cloud.Conflict {
		return nil
	}
	return err
}

// Delete leaves it: it is the account's.
func (*SpotRole) Delete(context.Context) error { return nil }
