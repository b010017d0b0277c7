package gcp_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/api/orgpolicy/v2"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/installer/doctor"
	hostedtest "github.com/det-deploy/det-deploy/test/contract/hosted"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// A policy that makes up fail is reported by the checks, before anything is created. One that the checks find
// in order does not make it fail.
func TestChecksForeseeOrganizationPolicies(t *testing.T) {
	t.Parallel()
	deny := &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule{DenyAll: true}
	enforce := &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule{Enforce: true}
	only := func(values ...string) *orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule {
		return &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule{Values: &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRuleStringValues{AllowedValues: values}}
	}
	for _, tc := range []struct {
		constraint string
		rule       *orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule
		answer     doctor.Answer
		flags      []string
	}{
		{"compute.vmExternalIpAccess", deny, doctor.Fail, nil},
		{"gcp.resourceLocations", only("europe-west4"), doctor.Fail, nil},
		{"gcp.resourceLocations", only("us-central1-a"), doctor.Fail, nil},
		{"gcp.resourceLocations", only("in:us-central1-locations"), doctor.Pass, nil},
		{"storage.softDeletePolicySeconds", only("604800"), doctor.Fail, nil},
		{"gcp.restrictNonCmekServices", &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule{Values: &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRuleStringValues{DeniedValues: []string{"storage.googleapis.com"}}}, doctor.Fail, nil},
		{"gcp.restrictServiceUsage", &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule{Values: &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRuleStringValues{DeniedValues: []string{"logging.googleapis.com"}}}, doctor.Fail, nil},
		{"compute.trustedImageProjects", only("projects/deeplearning-platform-release"), doctor.Fail, nil},
		{"iam.disableServiceAccountCreation", enforce, doctor.Fail, nil},
		{"compute.requireVpcFlowLogs", only("ESSENTIAL"), doctor.Fail, nil},
		{"compute.restrictCloudNATUsage", only("under:projects/others"), doctor.Fail, []string{"agent-external-ip", "false", "nat", "true"}},
		{"compute.disableGuestAttributesAccess", enforce, doctor.Pass, nil},
	} {
		t.Run(tc.constraint+" "+string(tc.answer), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStage(t, gcptest.Options{}, tc.flags...)
				s.world.Constrain(gcptest.Project, tc.constraint, tc.rule)
				target, err := s.target(t.Context())
				must(t, err)
				for _, c := range target.Checks() {
					if c.Name != "organization policies" {
						continue
					}
					if r := c.Look(t.Context()); r.Answer != tc.answer && r.Answer != doctor.Unknown {
						t.Errorf("got %s: %s, want %s", r.Answer, r.Found, tc.answer)
					}
				}
				if tc.answer == doctor.Pass {
					must(t, s.Up(t.Context()))
					return
				}
				err = s.upUnchecked(t.Context())
				if refused := cloud.KindOf(err) == cloud.Denied && strings.Contains(err.Error(), "constraints/"+tc.constraint); !refused {
					t.Errorf("got %v from up, want it refused", err)
				}
			})
		})
	}
}

// upUnchecked applies the plan without the checks.
func (s *stage) upUnchecked(ctx context.Context) error {
	in, _, err := s.operator(ctx)
	if err != nil {
		return err
	}
	p, err := in.Plan(ctx)
	if err != nil {
		return err
	}
	return in.Up(ctx, p)
}

// A snapshot is stored in the region, which a policy for the region allows.
func TestUpgradeKeepsSnapshotInRegion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		s.world.Constrain(gcptest.Project, "gcp.resourceLocations", &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule{
			Values: &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRuleStringValues{AllowedValues: []string{"in:us-central1-locations"}},
		})
		must(t, s.Up(t.Context()))
		must(t, hostedtest.Life{Stage: &s.Stage}.Upgrade(t.Context()))
	})
}
