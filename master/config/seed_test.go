package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/provider"
)

// The block an old cluster has, with its values filled in, is one pool on AWS.
func TestProvisionerBlockBecomesOnePool(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/examples/pedl-master.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m, warnings, err := config.Parse(data, "pedl-master.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(m.ResourcePools) != 1 || m.ResourcePools[0].Name != "default" || m.ResourcePools[0].Provider.AWS == nil {
		t.Fatalf("got pools %+v, want one named default on AWS", m.ResourcePools)
	}
	p := *m.ResourcePools[0].Provider.AWS
	if got := p.StartupScript.Reveal(); got != "echo hi" {
		t.Errorf("got startup script %q", got)
	}
	got := []any{p.Region, p.ImageID, p.NetworkInterface, p.MaxInstances, p.MaxIdleAgentPeriod.String(), p.AgentDockerNetwork}
	want := []any{"us-west-2", "ami-0f4677bfc3161edc8", provider.AWSNetwork{PublicIP: true, SubnetID: "subnet-1", SecurityGroupID: "sg-1"}, 5, "5m", "pedl"}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("provider (-got +want):\n%s", diff)
	}
	if slots, ok := p.Slots(p.InstanceType); slots != 4 || !ok {
		t.Errorf("got %d slots, want 4", slots)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0].String(), "pedl-master.yaml:3: provisioner: is now resource_pools[0].provider") {
		t.Errorf("got warnings %v", warnings)
	}
}
