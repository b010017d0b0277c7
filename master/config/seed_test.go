package config_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/provider"
)

// The provisioner block of an old cluster becomes one pool on AWS.
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

// The second disk in the manual for Google Cloud, with its values filled in.
func TestTheSecondDiskOfTheManual(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/examples/gcp-master.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m, warnings, err := config.Parse(data, "master.yaml")
	if err != nil || len(warnings) > 0 || len(config.Unbuilt(m)) > 0 {
		t.Fatal(err, warnings, config.Unbuilt(m))
	}
	p := *m.ResourcePools[0].Provider.GCP
	got := []any{p.BootDiskSize, p.BootDiskSourceImage, p.ZoneList(), p.Machines()[0].Type().String(), p.Slots(p.Machines()[0])}
	want := []any{200, "projects/det-lab-project/global/images/det-agent", []string{"us-west1-b"}, "n1-standard-32+4xnvidia-tesla-t4", 4}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("provider (-got +want):\n%s", diff)
	}
	if !strings.HasPrefix(p.StartupScript.Reveal(), "lsblk\nmkdir -p /mnt/disks/second\n") {
		t.Errorf("got startup script %q", p.StartupScript.Reveal())
	}
}

// A later edition of that manual has lost lines; the errors name the missing keys.
func TestMissingKeysAreNamed(t *testing.T) {
	t.Parallel()
	const head = "resource_pools:\n- pool_name: default\n  provider:\n"
	const disk = "mode: READ_ONLY\n        boot: false\n        source: zones/us-west1-b/disks/second\n        autoDelete: false\n"
	for _, tc := range []struct{ name, yaml, want string }{
		{
			"as it is printed", "  startup_script: |\n                  mkdir -p /mnt/disks/second\n  type: gcp\n      - " + disk + "  boot_disk_size: 200\n",
			"master.yaml:4: is not valid YAML: a list without a key (write base_config: and below it disks: above the list)",
		},
		{
			"in a pool", head + "    type: gcp\n    - " + disk,
			"master.yaml:5: is not valid YAML: a list without a key (write base_config: and below it disks: above the list)",
		},
		{
			"a list of others", "port: 8080\n- pool_name: default\n",
			"master.yaml:2: is not valid YAML: a list without a key (add the key of the list above it)",
		},
		{"the disks alone", head + "    type: gcp\n    disks: []\n", "master.yaml:5: resource_pools[0].provider.disks: unknown key (belongs to base_config: write that key above it)"},
		{"a disk alone", head + "    type: gcp\n    autoDelete: false\n", "provider.autoDelete: unknown key (belongs to a disk: write base_config: and below it disks: above the list that it is in)"},
		{"the provider's own line", "resource_pools:\n- pool_name: default\n  boot_disk_size: 200\n", "resource_pools[0].boot_disk_size: unknown key (belongs to provider: write that key above it)"},
		{"the pool", "container_startup_script: x\n", "master.yaml:1: container_startup_script: unknown key (belongs to the provider of a pool: write resource_pools:"},
	} {
		_, _, err := config.Parse([]byte(tc.yaml), "master.yaml")
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s:\n got %v\nwant %s", tc.name, err, tc.want)
		}
	}
}

// The GPUs of the manual and later ones: attached to N1 machines, built into other types.
func TestTheGPUsOfMachines(t *testing.T) {
	t.Parallel()
	for yaml, want := range map[string]string{
		"": "n1-standard-32+4xnvidia-tesla-t4 4",
		"instance_type: {machine_type: n1-standard-8}":                                               "n1-standard-8+4xnvidia-tesla-t4 4",
		"instance_type: {machine_type: n1-standard-8, gpu_num: 0}":                                   "n1-standard-8 0",
		"instance_type: {machine_type: n1-standard-8, gpu_type: ''}, cpu_slots_allowed: true":        "n1-standard-8 1",
		"instance_type: {machine_type: custom-8-32768, gpu_type: nvidia-tesla-p100, gpu_num: 2}":     "custom-8-32768+2xnvidia-tesla-p100 2",
		"instance_type: {machine_type: n1-highmem-8, gpu_type: nvidia-tesla-p4, gpu_num: 1}":         "n1-highmem-8+1xnvidia-tesla-p4 1",
		"instance_type: {machine_type: n1-standard-8, gpu_type: nvidia-tesla-v100, gpu_num: 8}":      "n1-standard-8+8xnvidia-tesla-v100 8",
		"instance_type: {machine_type: n1-standard-8, gpu_type: nvidia-tesla-k80, gpu_num: 8}":       "n1-standard-8+8xnvidia-tesla-k80 8",
		"instance_type: {machine_type: a2-highgpu-1g, gpu_type: nvidia-tesla-a100, gpu_num: 1}":      "a2-highgpu-1g 1",
		"instance_type: {machine_type: a2-megagpu-16g}":                                              "a2-megagpu-16g 16",
		"instance_type: {machine_type: a2-ultragpu-2g, gpu_type: nvidia-a100-80gb}":                  "a2-ultragpu-2g 2",
		"instance_type: {machine_type: a3-highgpu-8g}":                                               "a3-highgpu-8g 8",
		"instance_type: {machine_type: g2-standard-24, gpu_type: nvidia-l4, gpu_num: 2}":             "g2-standard-24 2",
		"instance_type: {machine_type: g4-standard-96}":                                              "g4-standard-96 2",
		"instance_type: {machine_type: a4-new-8, gpu_num: 8}":                                        "a4-new-8 8",
		"instance_type: {machine_type: e2-standard-4}":                                               "e2-standard-4 0",
		"instance_type: {machine_type: n2d-standard-8}, cpu_slots_allowed: true":                     "n2d-standard-8 1",
		"instance_type: {machine_type: c3-standard-4}":                                               "c3-standard-4 0",
		"instance_type: {gpu_type: ''}, base_config: {guestAccelerators: [{acceleratorCount: '2'}]}": "n1-standard-32 2",
		"instance_types: [{machine_type: a2-highgpu-1g}, {machine_type: g2-standard-8}], spot: true": "a2-highgpu-1g 1 g2-standard-8 1 spot",
		"instance_type: {machine_type: n1-standard-8, preemptible: true, gpu_num: 1}":                "n1-standard-8+1xnvidia-tesla-t4 1 spot",
		"instance_type: {machine_type: n1-standard-8, gpu_type: nvidia-tesla-t4-vws, gpu_num: 3}":    "n1-standard-8+3xnvidia-tesla-t4-vws 3",
	} {
		m, _, err := config.Parse([]byte("resource_pools: [{pool_name: default, provider: {type: gcp, "+yaml+"}}]"), "master.yaml")
		if err != nil {
			t.Errorf("%s: got %v", yaml, err)
			continue
		}
		p := *m.ResourcePools[0].Provider.GCP
		var got []string
		for _, machine := range p.Machines() {
			got = append(got, machine.Type().String(), strconv.Itoa(p.Slots(machine)))
		}
		if p.IsSpot() {
			got = append(got, "spot")
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: got %s, want %s", yaml, text, want)
		}
	}
}

// The master accepts the pool on our own manual page.
func TestPoolOfManualPageIsValid(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/gcp-pools.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "```yaml\n")
	block, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("the page has no block of YAML")
	}
	block = "resource_pools:\n- pool_name: default\n  " + strings.ReplaceAll(block, "\n", "\n  ")
	m, warnings, err := config.Parse([]byte(block), "gcp-pools.md")
	if err != nil || len(warnings) > 0 || len(config.Unbuilt(m)) > 0 {
		t.Errorf("got %v, %v, %v of\n%s", err, warnings, config.Unbuilt(m), block)
	}
}
