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

// SpotRoleName is the service-linked role with which EC2 manages spot instances of the account. EC2
// creates it at a spot request if the caller has the permission to create roles, which the master
// lacks.
const SpotRoleName = "AWSServiceRoleForEC2Spot"

// SpotRole is the service-linked role of EC2 Spot. It is shared by all users of spot instances in
// the account, so it is created if it is missing and never deleted.
type SpotRole struct {
	In *mark.Cluster

	infra.Learned
}

var _ resource.Resource = (*SpotRole)(nil)

// ID returns the resource ID "aws/service-linked-role/NAME".
func (*SpotRole) ID() string { return mark.ResourceID(mark.KindSpotRole, SpotRoleName) }

// Kind returns KindSpotRole.
func (*SpotRole) Kind() string { return mark.KindSpotRole }

// Needs returns nil.
func (*SpotRole) Needs() []string { return nil }

// Describe returns the details for the plan.
func (*SpotRole) Describe() []string {
	return []string{"the account's service-linked role for spot instances; it is kept when the cluster is deleted"}
}

// Find finds the role. A missing permission is not an error here, because the role may exist; the
// preflight checks report it.
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

// Create creates the role. It returns nil if another caller has created it in the meantime.
func (r *SpotRole) Create(ctx context.Context) error {
	_, err := r.In.Clients.IAM.CreateServiceLinkedRole(ctx, &iam.CreateServiceLinkedRoleInput{
		AWSServiceName: aws.String("spot.amazonaws.com"),
	})
	if cloud.KindOf(err) == cloud.Conflict {
		return nil
	}
	return err
}

// Delete does nothing, because the role belongs to the account.
func (*SpotRole) Delete(context.Context) error { return nil }
