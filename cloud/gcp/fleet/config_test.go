package fleet_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/fleet"
	cloudtest "github.com/det-deploy/det-deploy/test/fake/cloud"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

func TestNewRejectsInvalidConfig(t *testing.T) {
	t.Parallel()
	many := make(map[string]string)
	for n := range 60 {
		many[fmt.Sprint("k", n)] = ""
	}
	base := func(text string) func(*fleet.Config) {
		return func(c *fleet.Config) { c.BaseConfig = []byte(text) }
	}
	for name, tc := range map[string]struct {
		change func(*fleet.Config)
		want   string
	}{
		"nothing":             {func(*fleet.Config) {}, ""},
		"no image":            {func(c *fleet.Config) { c.Image = "" }, "provider.boot_disk_source_image"},
		"no zone":             {func(c *fleet.Config) { c.Zones = nil }, "provider.zone"},
		"no pair":             {func(c *fleet.Config) { c.Pair = fleet.Label{} }, "provider.label_value"},
		"no cluster":          {func(c *fleet.Config) { c.Cluster = "" }, "the cluster ID"},
		"half a network":      {func(c *fleet.Config) { c.Network = "x" }, "provider.network_interface"},
		"a prefix":            {func(c *fleet.Config) { c.NamePrefix = "det-" }, ""},
		"a prefix of names":   {func(c *fleet.Config) { c.NamePrefix = "Det" }, "provider.name_prefix"},
		"a long prefix":       {func(c *fleet.Config) { c.NamePrefix = strings.Repeat("x", 41) }, "provider.name_prefix"},
		"a mark as own label": {func(c *fleet.Config) { c.Labels = map[string]string{"det-deploy-pool": "x"} }, "label det-deploy-pool is reserved"},
		"a mark as the pair":  {func(c *fleet.Config) { c.Pair.Key = "det-deploy-cluster" }, "label det-deploy-cluster is reserved"},
		"an old mark":         {base(`{"labels": {"determined-resource-pool": "x"}}`), "base_config.labels.determined-resource-pool: is reserved"},
		"a label of capitals": {func(c *fleet.Config) { c.Labels = map[string]string{"Team": "x"} }, "label Team=x"},
		"a value with a dot":  {func(c *fleet.Config) { c.Pair.Value = "a.b" }, "label managed-by=a.b"},
		"too many labels":     {func(c *fleet.Config) { c.Labels = many }, "67 labels"},
		"too long a script":   {func(c *fleet.Config) { c.StartupScript = strings.Repeat("x", 262145) }, "262145 bytes"},

		"an unknown key":          {base(`{"disks": [{"autoDelet": true}]}`), "disks[0].autoDelet: unknown key (did you mean autoDelete?)"},
		"a second startup script": {base(`{"metadata": {"items": [{"key": "a", "value": "b"}, {"key": "startup-script", "value": "x"}]}}`), "base_config.metadata.items[1]: startup-script"},
		"a second boot disk":      {base(`{"disks": [{"boot": true}]}`), "disks[0].boot"},
		"a disk of another zone":  {base(`{"disks": [{"source": "zones/us-west1-b/disks/second"}]}`), "cannot be in us-west1-a"},
		"a disk of the zone": {func(c *fleet.Config) {
			c.Zones, c.BaseConfig = []string{zoneB}, []byte(`{"disks": [{"source": "zones/us-west1-b/disks/second"}]}`)
		}, ""},
		"two accounts": {func(c *fleet.Config) {
			c.Account, c.BaseConfig = "a@x.iam.gserviceaccount.com", []byte(`{"serviceAccounts": [{"email": "b@x.iam.gserviceaccount.com"}]}`)
		}, "one service account"},
		"spot by the back door": {base(`{"scheduling": {"preemptible": true}}`), "provider.spot"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := config(t)
			tc.change(&c)
			_, err := fleet.New(api.Clients{}, c)
			cloudtest.CheckInvalid(t, err, tc.want)
		})
	}
}

// merged returns an instance that a pool with a base_config launches.
func merged(t *testing.T, base string, price cloud.Price, change func(*fleet.Config)) *compute.Instance {
	t.Helper()
	p := open(t, gcptest.Options{}, func(c *fleet.Config) {
		c.BaseConfig, c.Zones, c.Spot = []byte(base), []string{zoneB}, price == cloud.Spot
		if change != nil {
			change(c)
		}
	})
	p.world.GiveDisk(gcptest.Project, zoneB, "second", 500)
	o := cloud.Offer{Type: "n1-standard-8", Zone: zoneB, Price: price}
	id := p.launch(t, "one", 1, o)[0].ID
	return p.live()[string(id)]
}

// The second disk of Determined's documented example is attached after the boot disk.
func TestBaseConfigDiskFollowsBootDisk(t *testing.T) {
	t.Parallel()
	i := merged(t, `{"disks": [{"mode": "READ_ONLY", "boot": false, "source": "zones/us-west1-b/disks/second", "autoDelete": false}, {"initializeParams": {"diskSizeGb": 20, "diskType": "pd-ssd"}, "autoDelete": true}]}`, cloud.OnDemand, nil)
	var got []string
	for _, d := range i.Disks {
		got = append(got, fmt.Sprintln(last(d.Source) == i.Name, last(d.Source) == "second", d.Boot, d.AutoDelete, d.Mode, d.DiskSizeGb))
	}
	want := []string{"true false true true READ_WRITE 200\n", "false true false false READ_ONLY 500\n", "false false false true READ_WRITE 20\n"}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("disks (-got +want):\n%s", diff)
	}
}

func TestSettingsOverrideBaseConfig(t *testing.T) {
	t.Parallel()
	i := merged(t, `{
		"machineType": "e2-medium", "minCpuPlatform": "Intel Skylake", "canIpForward": true, "description": "ours",
		"labels": {"team": "theirs", "cost": 7}, "tags": {"items": ["det-lab-agent", "extra"]},
		"metadata": {"items": [{"key": "block-project-ssh-keys", "value": "true"}]},
		"networkInterfaces": [{"network": "global/networks/default", "nicType": "GVNIC"}],
		"serviceAccounts": [{"email": "default", "scopes": ["https://www.googleapis.com/auth/logging.write"]}],
		"shieldedInstanceConfig": {"enableVtpm": false},
		"guestAccelerators": [{"acceleratorType": "nvidia-tesla-t4", "acceleratorCount": "1"}]}`,
		cloud.OnDemand, func(c *fleet.Config) {
			c.Network, c.Subnetwork = "default", "default"
			c.Account, c.Scopes = "default", []string{"https://www.googleapis.com/auth/compute"}
		})
	got := fmt.Sprint(last(i.MachineType), i.MinCpuPlatform, i.CanIpForward, i.Description, i.Labels["team"], i.Labels["cost"], i.Tags.Items,
		metadataOf(i)["block-project-ssh-keys"], i.NetworkInterfaces[0].NicType, i.NetworkInterfaces[1].NicType, len(i.ServiceAccounts), len(i.ServiceAccounts[0].Scopes),
		last(i.GuestAccelerators[0].AcceleratorType))
	want := fmt.Sprint("n1-standard-8", "Intel Skylake", true, "ours", "vision", "7", []string{"det-lab-agent", "extra"}, "true", "", "GVNIC", 1, 2, "nvidia-tesla-t4")
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestMergeScheduling(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		base  string
		price cloud.Price
		want  string
	}{
		"empty":                    {`{}`, cloud.OnDemand, `{"automaticRestart":true,"onHostMaintenance":"TERMINATE","provisioningModel":"STANDARD"}`},
		"it may move":              {`{"onHostMaintenance": "MIGRATE", "automaticRestart": false}`, cloud.OnDemand, `{"automaticRestart":false,"onHostMaintenance":"MIGRATE","provisioningModel":"STANDARD"}`},
		"a spot machine may not":   {`{"onHostMaintenance": "MIGRATE", "automaticRestart": true}`, cloud.Spot, `{"automaticRestart":false,"instanceTerminationAction":"STOP","onHostMaintenance":"TERMINATE","preemptible":true,"provisioningModel":"SPOT"}`},
		"deleted when it is taken": {`{"preemptible": true, "instanceTerminationAction": "DELETE"}`, cloud.Spot, `{"automaticRestart":false,"instanceTerminationAction":"DELETE","onHostMaintenance":"TERMINATE","preemptible":true,"provisioningModel":"SPOT"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := merged(t, `{"scheduling": `+tc.base+`}`, tc.price, nil)
			got, err := json.Marshal(i.Scheduling)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(got), tc.want); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
		})
	}
}

// A spot pool falls back to on-demand instances regardless of the scheduling in base_config.
func TestOnDemandInstanceOfSpotPool(t *testing.T) {
	t.Parallel()
	p := open(t, gcptest.Options{}, func(c *fleet.Config) {
		c.Spot, c.BaseConfig = true, []byte(`{"scheduling": {"preemptible": true, "instanceTerminationAction": "DELETE"}}`)
	})
	m := p.launch(t, "one", 1, onDemand(zoneB))[0]
	if got := p.list(t)[0].Offer.Price; got != cloud.OnDemand {
		t.Errorf("got %s", got)
	}
	if s := p.live()[string(m.ID)].Scheduling; s.ProvisioningModel != "STANDARD" || s.InstanceTerminationAction != "" {
		t.Errorf("got %+v", s)
	}
}

// Newer families do not support standard disks: without a configured type, an instance gets one
// that it can boot from.
func TestDefaultBootDiskType(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]map[string]string{
		"":       {"n1-standard-8": "pd-standard", "e2-standard-4": "pd-standard", "c3-standard-8": "pd-balanced", "g2-standard-8": "pd-balanced"},
		"pd-ssd": {"n1-standard-8": "pd-ssd", "c3-standard-8": "pd-ssd"},
	} {
		p := open(t, gcptest.Options{}, func(c *fleet.Config) { c.BootDiskType = said })
		for kind, disk := range want {
			id := p.launch(t, kind, 1, cloud.Offer{Type: kind, Zone: zoneB, Price: cloud.OnDemand})[0].ID
			live, err := api.Do(t.Context(), p.clients(t).Compute.Disks.Get(gcptest.Project, zoneB, string(id)))
			if err != nil {
				t.Fatal(err)
			}
			if last(live.Type) != disk {
				t.Errorf("%s with %q: got a %s, want %s", kind, said, last(live.Type), disk)
			}
		}
	}
}
