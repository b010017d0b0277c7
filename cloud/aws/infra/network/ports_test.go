package network

import (
	"maps"
	"net/netip"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/infra"
)

func TestIngressRules(t *testing.T) {
	t.Parallel()
	office := []netip.Prefix{netip.MustParsePrefix("203.0.113.9/32"), netip.MustParsePrefix("2001:db8::/64")}
	for _, tc := range []struct {
		name  string
		rules []Rule
		want  []string
	}{
		{"a master", MasterRules(8443, office, infra.Existing("sg-a"), false), []string{
			"8443 from 2001:db8::/64", "8443 from 203.0.113.9/32", "8443 from sg-a",
		}},
		{"a master with a key pair", MasterRules(8443, office[:1], infra.Existing("sg-a"), true), []string{
			"22 from 203.0.113.9/32", "8443 from 203.0.113.9/32", "8443 from sg-a",
		}},
		{"agents", AgentRules(infra.Existing("sg-m"), infra.Existing("sg-a")), []string{"all from sg-a", "all from sg-m"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var sent []types.IpPermission
			for _, r := range tc.rules {
				sent = append(sent, r.ipPermission())
			}
			// Converting a rule to EC2's type and back yields the same rule.
			got := sortKeys(slices.Collect(maps.Keys(splitPermissions(sent))))
			if d := cmp.Diff(got, tc.want); d != "" {
				t.Errorf("got -, want +:\n%s", d)
			}
			for _, r := range tc.rules {
				if _, ok := splitPermissions(sent)[r.planKey()]; !ok {
					t.Errorf("%s is not among %v", r.planKey(), got)
				}
			}
		})
	}
}
