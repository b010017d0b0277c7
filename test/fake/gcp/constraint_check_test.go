package gcptest_test

import (
	"testing"

	"google.golang.org/api/compute/v1"
	"google.golang.org/api/orgpolicy/v2"
	"google.golang.org/api/storage/v1"

	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

func TestOrganizationPoliciesAreEnforced(t *testing.T) {
	t.Parallel()
	only := func(values ...string) *orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule {
		return &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule{Values: &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRuleStringValues{AllowedValues: values}}
	}
	external := func(i *compute.Instance) {
		i.NetworkInterfaces = []*compute.NetworkInterface{{Network: "global/networks/default", AccessConfigs: []*compute.AccessConfig{{Type: "ONE_TO_ONE_NAT"}}}}
	}
	internal := func(i *compute.Instance) {
		i.NetworkInterfaces = []*compute.NetworkInterface{{Network: "global/networks/default"}}
	}
	for _, tc := range []struct {
		name, constraint string
		rule             *orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule
		call             func(c clients) error
		refused          bool
	}{
		{"an external address", "compute.vmExternalIpAccess", &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule{DenyAll: true}, inserts("one", external), true},
		{"no external address", "compute.vmExternalIpAccess", &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule{DenyAll: true}, inserts("one", internal), false},
		{"an allowed external address", "compute.vmExternalIpAccess", only("projects/" + project + "/zones/" + zoneB + "/instances/one"), inserts("one", external), false},
		{"another zone", "gcp.resourceLocations", only("us-west1-a"), inserts("one", nil), true},
		{"a zone of a region", "gcp.resourceLocations", only("in:us-west1-locations"), inserts("one", nil), false},
		{"a zone of a literal region", "gcp.resourceLocations", only("us-west1"), inserts("one", nil), true},
		{"a machine without Secure Boot", "compute.requireShieldedVm", &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule{Enforce: true}, inserts("one", nil), true},
		{"a bucket elsewhere", "gcp.resourceLocations", only("europe-west4"), makesBucket, true},
		{"a bucket on the continent", "gcp.resourceLocations", only("in:us-locations"), makesBucket, false},
		{"an API", "gcp.restrictServiceUsage", only("compute.googleapis.com"), makesBucket, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w, c := newWorld(t, gcptest.Options{})
			w.Constrain(project, tc.constraint, tc.rule)
			if err := tc.call(c); (err != nil) != tc.refused {
				t.Errorf("got %v, want refused %t", err, tc.refused)
			}
		})
	}
}

func inserts(name string, change func(*compute.Instance)) func(clients) error {
	return func(c clients) error {
		_, err := c.compute.Instances.Insert(project, zoneB, launch(name, change)).Do()
		return err
	}
}

func makesBucket(c clients) error {
	_, err := c.storage.Buckets.Insert(project, &storage.Bucket{Name: "data", Location: region}).Do()
	return err
}
