package master

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config/provider"
)

func TestAPoolShowsTheAgentsOfItsMachinesAndWhatThePlatformAdds(t *testing.T) {
	t.Parallel()
	var p provider.AWS
	p.SetDefaults()
	p.MasterURL = "https://master:8443"
	got := &apiv1.ResourcePool{}
	describeMachines(provider.Provider{AWS: &p}, func(out *apiv1.ResourcePool) { out.ImageId = "ami-2" })(got)
	want := &apiv1.ResourcePool{
		ImageId: "ami-2", MasterUrl: "https://master:8443", AgentDockerNetwork: "default", AgentDockerRuntime: "runc",
	}
	if d := cmp.Diff(got, want, protocmp.Transform()); d != "" {
		t.Errorf("got −, want +:\n%s", d)
	}
}
