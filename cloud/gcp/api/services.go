package api

import (
	"context"

	"google.golang.org/api/orgpolicy/v2"
	"google.golang.org/api/serviceusage/v1"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// Services are the APIs of Google's that the project uses, by their names:
// "compute.googleapis.com".
type Services struct {
	Get func(ctx context.Context, names []string) ([]*serviceusage.GoogleApiServiceusageV1Service, error)
	// Enable begins to enable at most 20 of them.
	Enable func(ctx context.Context, names []string) error
}

func newServices(g *gateway, s *serviceusage.ServicesService) Services {
	parent := "projects/" + g.project
	return Services{
		Get: func(ctx context.Context, names []string) ([]*serviceusage.GoogleApiServiceusageV1Service, error) {
			full := make([]string, len(names))
			for i, name := range names {
				full[i] = parent + "/services/" + name
			}
			ctx, c := g.begin(ctx, "serviceusage.services.batchGet")
			out, err := send(ctx, c, s.BatchGet(parent).Names(full...).Context(ctx).Do)
			if err != nil {
				return nil, err
			}
			return out.Services, nil
		},
		Enable: func(ctx context.Context, names []string) error {
			ctx, c := g.begin(ctx, "serviceusage.services.batchEnable")
			return done(send(ctx, c, s.BatchEnable(parent, &serviceusage.BatchEnableServicesRequest{ServiceIds: names}).Context(ctx).Do))
		},
	}
}

// Constraints are what the project's organization allows.
type Constraints struct {
	// Get is what holds of one constraint, such as "compute.vmExternalIpAccess".
	Get func(ctx context.Context, name string) (*orgpolicy.GoogleCloudOrgpolicyV2Policy, error)
}

func newConstraints(g *gateway, s *orgpolicy.ProjectsPoliciesService) Constraints {
	return Constraints{Get: func(ctx context.Context, name string) (*orgpolicy.GoogleCloudOrgpolicyV2Policy, error) {
		ctx, c := g.begin(ctx, "orgpolicy.projects.policies.getEffectivePolicy")
		return send(ctx, c, s.GetEffectivePolicy("projects/"+g.project+"/policies/"+name).Context(ctx).Do)
	}}
}

func serviceCalls() edge.Calls {
	return edge.Calls{
		edge.Reads("serviceusage.services.batchGet", "serviceusage.services.get"),
		edge.Writes("serviceusage.services.batchEnable", "serviceusage.services.enable"),
		edge.Reads("orgpolicy.projects.policies.getEffectivePolicy", "orgpolicy.policy.get"),
	}
}
