package parts

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/fleet"
	"github.com/det-deploy/det-deploy/cloud/gcp/metadata"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// atGoogle returns the provider of a master on a Google Cloud machine.
func atGoogle(t *testing.T) (*gcptest.World, *gcpProvider) {
	t.Helper()
	w := gcptest.New(t, gcptest.Options{})
	insertMachine(t, w, zoneB, masterName, nil)
	return w, gcpParts(w, gcptest.Caller{}, masterName)
}

// awayFromGoogle returns the provider of a master on another platform.
func awayFromGoogle(t *testing.T) *gcpProvider {
	t.Helper()
	_, p := atGoogle(t)
	p.home = fleet.Home{Metadata: metadata.Server{URL: "http://127.0.0.1:1"}}
	return p
}

// The manual's provider block with its values filled in is sufficient for a fleet on Google Cloud.
func TestProviderBlockOfManualIsSufficient(t *testing.T) {
	t.Parallel()
	yaml, err := os.ReadFile("../../../../docs/examples/gcp-master.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, p := atGoogle(t)
	env := gcpEnv(t, string(yaml))
	got, err := p.fleetConfig(t.Context(), env, *env.Config.ResourcePools[0].Provider.GCP)
	if err != nil {
		t.Fatal(err)
	}
	address, err := p.home.Address(t.Context(), "", "http", 8080)
	if err != nil {
		t.Fatal(err)
	}
	want := fleet.Config{
		Cluster: "cluster-1", Pair: fleet.Label{Key: "managed-by", Value: masterName}, MasterURL: address,
		Image: "projects/det-lab-project/global/images/det-agent", BootDiskGB: 200,
		Scopes:           []string{"https://www.googleapis.com/auth/cloud-platform"},
		BaseConfig:       []byte(`{"disks":[{"autoDelete":false,"boot":false,"mode":"READ_ONLY","source":"zones/us-west1-b/disks/second"}]}`),
		OperationTimeout: 5 * 60e9,
	}
	if diff := cmp.Diff(got, want, cmpopts.IgnoreFields(fleet.Config{}, "StartupScript", "Log")); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	for _, text := range []string{address, strings.Repeat("a", 64), "gcp"} {
		if !strings.Contains(got.StartupScript, text) {
			t.Errorf("got a startup script without %s:\n%s", text, got.StartupScript)
		}
	}
	m, err := p.Machines(t.Context(), env, env.Config.ResourcePools[0])
	if err != nil {
		t.Fatal(err)
	}
	offers := []cloud.Offer{{Type: "n1-standard-32+4xnvidia-tesla-t4", Zone: zoneB, Price: cloud.OnDemand}}
	if diff := cmp.Diff(m.Offers, offers); diff != "" || m.Slots != 4 {
		t.Errorf("got %d slots and offers (-got +want):\n%s", m.Slots, diff)
	}
}

const manySettings = `
resource_pools:
  - pool_name: default
    provider:
      type: gcp
      project: acme-ml
      zones: [us-west1-a, us-west1-b]
      master_url: http://10.0.0.1:8080
      boot_disk_source_image: family/agents
      boot_disk_type: https://www.googleapis.com/compute/v1/projects/p/zones/us-west1-a/diskTypes/pd-balanced
      label_key: det-deploy-agents
      label_value: lab
      name_prefix: det-agents-
      labels: {team: vision}
      network_interface: {network: projects/host/global/networks/n, subnetwork: projects/host/regions/us-west1/subnetworks/s, external_ip: true}
      network_tags: [det-lab-agent]
      service_account: {email: a@acme-ml.iam.gserviceaccount.com, scopes: [https://www.googleapis.com/auth/devstorage.read_only]}
      instance_types: [{machine_type: a2-highgpu-1g}, {machine_type: n1-standard-8, gpu_type: nvidia-tesla-v100, gpu_num: 1}]
      spot: {fallback_to_on_demand: true}
      operation_timeout_period: 9m
      use_cloud_logging: true
      metrics: false
`

func TestEverySettingReachesTheFleet(t *testing.T) {
	t.Parallel()
	p, env := awayFromGoogle(t), gcpEnv(t, manySettings)
	got, err := p.fleetConfig(t.Context(), env, *env.Config.ResourcePools[0].Provider.GCP)
	if err != nil {
		t.Fatal(err)
	}
	want := fleet.Config{
		Cluster: "lab", Pair: fleet.Label{Key: fleet.LabelAgents, Value: "lab"}, Labels: map[string]string{"team": "vision"},
		NamePrefix: "det-agents-", MasterURL: "http://10.0.0.1:8080", Image: "family/agents", BootDiskGB: 200, BootDiskType: "pd-balanced",
		Network: "projects/host/global/networks/n", Subnetwork: "projects/host/regions/us-west1/subnetworks/s", ExternalIP: true,
		Tags: []string{"det-lab-agent"}, Account: "a@acme-ml.iam.gserviceaccount.com",
		Scopes: []string{"https://www.googleapis.com/auth/devstorage.read_only"}, Spot: true, OperationTimeout: 9 * 60e9,
	}
	if diff := cmp.Diff(got, want, cmpopts.IgnoreFields(fleet.Config{}, "StartupScript", "Log", "BaseConfig")); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	if s := got.StartupScript; !strings.Contains(s, "det-deploy-lab") || strings.Contains(s, "--report-use") {
		t.Errorf("got a startup script that does not write to the log of the cluster, or that reports metrics:\n%s", s)
	}
	m, err := p.Machines(t.Context(), env, env.Config.ResourcePools[0])
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Offers) != 8 || m.Offers[0].Price != cloud.Spot || m.Offers[0].Type != "a2-highgpu-1g" || m.LaunchWait != 9*60e9 {
		t.Errorf("got offers %v within %v", m.Offers, m.LaunchWait)
	}
	if _, err := p.FindMachine(t.Context(), "det-unknown"); cloud.KindOf(err) != cloud.NotFound {
		t.Errorf("a machine that was not launched: got %v", err)
	}
}

func TestDescribeGCP(t *testing.T) {
	t.Parallel()
	p, env := awayFromGoogle(t), gcpEnv(t, manySettings)
	m, err := p.Machines(t.Context(), env, env.Config.ResourcePools[0])
	if err != nil {
		t.Fatal(err)
	}
	got := &apiv1.ResourcePool{Type: apiv1.ResourcePoolType_RESOURCE_POOL_TYPE_STATIC}
	m.Describe(got)
	want := &apiv1.ResourcePool{
		Type: apiv1.ResourcePoolType_RESOURCE_POOL_TYPE_GCP, Location: "us-west1-a, us-west1-b", ImageId: "family/agents", SlotType: apiv1.Device_TYPE_CUDA,
		Details: &apiv1.ResourcePoolDetail{Gcp: &apiv1.ResourcePoolGcpDetail{
			Project: "acme-ml", Zone: zoneA, BootDiskSize: 200, BootDiskSourceImage: "family/agents", LabelKey: "det-deploy-agents", LabelValue: "lab",
			NamePrefix: "det-agents-", Network: "projects/host/global/networks/n", Subnetwork: "projects/host/regions/us-west1/subnetworks/s", ExternalIp: true,
			NetworkTags: []string{"det-lab-agent"}, ServiceAccountEmail: "a@acme-ml.iam.gserviceaccount.com",
			ServiceAccountScopes: []string{"https://www.googleapis.com/auth/devstorage.read_only"},
			MachineType:          "a2-highgpu-1g", GpuType: "nvidia-tesla-a100", GpuNum: 1, Preemptible: true, OperationTimeoutPeriod: 540,
		}},
	}
	if d := cmp.Diff(got, want, protocmp.Transform()); d != "" {
		t.Errorf("got −, want +:\n%s", d)
	}
}

func TestMissingSettingsOfGCPMachine(t *testing.T) {
	t.Parallel()
	const pool = "resource_pools: [{pool_name: default, provider: {type: gcp, boot_disk_source_image: i, "
	machines := func(p *gcpProvider, settings string) error {
		env := gcpEnv(t, pool+settings+"}}]")
		_, err := p.Machines(t.Context(), env, env.Config.ResourcePools[0])
		return err
	}
	_, home := atGoogle(t)
	away := awayFromGoogle(t)
	for name, tc := range map[string]struct {
		provider *gcpProvider
		settings string
		want     string
	}{
		"everything at home":        {home, "instance_type: {machine_type: e2-standard-4}", ""},
		"its own project, named":    {home, "project: acme-ml", ""},
		"another project":           {home, "project: other", "agents cannot be in project other while the master is in acme-ml"},
		"another project's network": {home, "network_interface: {network: projects/host/global/networks/n, subnetwork: projects/host/regions/us-west1/subnetworks/s}", ""},
		"no zone":                   {away, "project: acme-ml, master_url: 'http://10.0.0.1:8080'", "zone"},
		"no address":                {away, "project: acme-ml, zone: us-west1-b, master_url: 'http://internal-ip:8080'", "internal-ip"},
		"everything elsewhere":      {away, "project: other, zone: us-west1-b, master_url: 'http://10.0.0.1:8080'", ""},
	} {
		err := machines(tc.provider, tc.settings)
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tc.want != "" && (cloud.KindOf(err) != cloud.Invalid || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: got %v, want %s", name, err, tc.want)
		}
	}
	away.open = func(context.Context, api.Options) (api.Clients, error) {
		return api.Clients{}, errors.New("no project is set")
	}
	if e, ok := errors.AsType[*cloud.Error](machines(away, "zone: us-west1-b")); !ok || !strings.Contains(e.Fix, "provider.project") {
		t.Errorf("no project: got %v, want the setting named", e)
	}
	if e, ok := errors.AsType[*cloud.Error](machines(home, "project: other")); !ok || e.Fix == "" {
		t.Errorf("got no word on what to do about another project")
	}
}
