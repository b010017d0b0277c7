package spec_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/installer/spec"
)

// readGCP reads file with pairs of flags and values over it.
func readGCP(file string, pairs ...string) (spec.GCP, error) {
	settings := map[string]string{spec.FileSetting: file}
	for i := 0; i < len(pairs); i += 2 {
		settings[pairs[i]] = pairs[i+1]
	}
	var g spec.GCP
	err := spec.GCPFlags().Read(&g, "lab", settings)
	return g, err
}

// neededGCP returns the required flags of a cluster, followed by more.
func neededGCP(more ...string) []string {
	return append([]string{"project", "my-lab-123", "region", "us-central1", "inbound-cidr", "203.0.113.7/32"}, more...)
}

func TestDefaultsOnGoogle(t *testing.T) {
	t.Parallel()
	g, err := readGCP("", neededGCP()...)
	if err != nil {
		t.Fatal(err)
	}
	if g.Cluster != "lab" || g.DefaultPool != spec.ComputePool || g.Master.MachineType != "n2-standard-2" || g.Master.Disk.Size != 100 {
		t.Errorf("got %+v", g)
	}
	if diff := cmp.Diff(g.Pools[spec.ComputePool], spec.DefaultGCPPool()); diff != "" {
		t.Errorf("the pool (-got +want):\n%s", diff)
	}
}

func TestMachinesAreTextOrObjects(t *testing.T) {
	t.Parallel()
	const file = "pools: {compute-pool: {machines: [n1-standard-8+4xnvidia-tesla-t4, {machine_type: n1-standard-16, gpu_type: nvidia-tesla-v100, gpu_num: 4}]}}\n"
	byFile, err := readGCP(file, neededGCP()...)
	if err != nil {
		t.Fatal(err)
	}
	byFlag, err := readGCP("", neededGCP("machine", "n1-standard-8+4xnvidia-tesla-t4,n1-standard-16+4xnvidia-tesla-v100")...)
	if err != nil {
		t.Fatal(err)
	}
	want := []spec.GCPMachine{{"n1-standard-8", "nvidia-tesla-t4", 4}, {"n1-standard-16", "nvidia-tesla-v100", 4}}
	for _, g := range []spec.GCP{byFile, byFlag} {
		if diff := cmp.Diff(g.Pools[spec.ComputePool].Machines, want); diff != "" {
			t.Errorf("machines (-got +want):\n%s", diff)
		}
	}
}

func TestReadErrorsGCP(t *testing.T) {
	t.Parallel()
	existing := neededGCP("network", "net", "subnetwork", "sub")
	for _, tc := range []struct {
		name, file string
		flags      []string
		want       string
	}{
		{"no project", "", []string{"region", "us-central1"}, "project: is required; set it, give --project, or run: gcloud config set project PROJECT"},
		{"no region", "", []string{"project", "my-lab-123"}, "region: is required"},
		{"a project's number", "", neededGCP("project", "123456789012"), "must be the id of a project"},
		{"a region of Amazon's", "", neededGCP("region", "us-west-2"), "must be a region of Google's such as us-central1"},
		{"a zone of another region", "", neededGCP("zone", "europe-west4-a"), "must be a zone of us-central1"},
		{"a region as a pool's zone", "", neededGCP("pool-zone", "us-central1"), "must be a zone such as us-central1-a"},
		{"another platform's file", "platform: aws\n", neededGCP(), "platform: must be gcp"},
		{"no way to the internet", "", neededGCP("agent-external-ip", "false"), "network.nat: is required without external_ip"},
		{"a router in a network of the user's", "", append(slices.Clone(existing), "nat", "true"), "network.nat: applies only to the cluster's own network"},
		{"addresses for an existing network", "", append(slices.Clone(existing), "network-cidr", "10.1.0.0/16"), "network.cidr: applies only to the cluster's own network"},
		{"public addresses for an own network", "", neededGCP("network-cidr", "203.0.0.0/16"), "network.cidr: must be private addresses"},
		{"a network without subnetwork", "", neededGCP("network", "net"), "network.subnetwork: is required"},
		{"rules of the user's in an own network", "", neededGCP("firewall", "existing"), "network.firewall: must be own"},
		{"SSH by rules of the user's", "", append(slices.Clone(existing), "firewall", "existing", "ssh", "true"), "network.ssh: has no effect on existing firewall rules"},
		{"own rules in a shared network", "", append(slices.Clone(existing), "host-project", "hosts-123"), "network.firewall: must be existing in a shared network"},
		{"a shared network without its name", "", neededGCP("host-project", "hosts-123"), "network.host_project: belongs to an existing network"},
		{"a role on nothing that is shared", "", neededGCP("share-access", "true"), "network.share_access: belongs to a shared subnetwork"},
		{"a user as account", "", neededGCP("master-service-account", "jo@example.com"), "roles.master: must be the e-mail of a service account, or default"},
		{"a master without account", "", neededGCP("master-service-account", "none"), "roles.master: must be the e-mail"},
		{"GPUs for a machine that takes none", "", neededGCP("machine", "n2-standard-8+1xnvidia-tesla-t4"), "machine type n2-standard-8 does not support GPUs"},
		{"a number without a type", "pools: {p: {machines: [{machine_type: n1-standard-8, gpu_num: 1}]}}\n", neededGCP(), "gpu_type: is required with gpu_num"},
		{"a machine twice", "", neededGCP("machine", "g2-standard-4,g2-standard-4"), "pools.compute-pool.machines[1]: is given twice (g2-standard-4)"},
		{"a master with GPUs", "", neededGCP("master-machine-type", "n1-standard-8+1xnvidia-tesla-t4"), "master.machine_type: must be a machine type"},
		{"an image of Amazon's", "", neededGCP("agent-image", "ami:0123"), "agents.image: must be an image such as"},
		{"a disk that is local to a machine", "", neededGCP("data-disk-type", "local-ssd"), "master.disk.type: must be pd-standard"},
		{"two origins of the disk", "", neededGCP("data-disk", "mine", "data-snapshot", "older"), "keep one of name and snapshot"},
		{"a size for an existing disk", "", neededGCP("data-disk", "mine", "data-disk-size", "200"), "master.disk.size: has no effect on an existing disk"},
		{"a small boot disk", "", neededGCP("agent-boot-disk-size", "50"), "agents.boot_disk.size: must be at least 100"},
		{"a label of the cluster's own", "", neededGCP("label", "det-deploy-cluster=x"), "labels.det-deploy-cluster: is a reserved label that the cluster sets itself"},
		{"a label in capitals", "", neededGCP("label", "Team=ml"), "labels.Team: must have a key of 1 to 63 lower-case letters"},
		{"a mistyped key of Google's", "pools:\n  p:\n    base_config:\n      disks:\n      - autoDelet: true\n", neededGCP(), ":5: pools.p.base_config.disks[0].autoDelet: unknown key (did you mean autoDelete?)"},
		{"a second startup script", "pools: {p: {base_config: {metadata: {items: [{key: startup-script, value: x}]}}}}\n", neededGCP(), "pools.p.base_config.metadata.items[0]: startup-script is reserved"},
		{"a list as base_config", "pools: {p: {base_config: [1]}}\n", neededGCP(), "pools.p.base_config: must be a mapping"},
		{"a secret in another cloud", "", neededGCP("db-url", "aws-sm:x"), "write file:/path, env:NAME or gcp-sm:NAME"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := readGCP(tc.file, tc.flags...)
			if !strings.Contains(fmt.Sprint(err), tc.want) {
				t.Errorf("got:\n%v\nwant %q in it", err, tc.want)
			}
		})
	}
}

func TestTheExampleForGCPIsValid(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/examples/cluster-gcp.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readGCP(string(data)); err != nil {
		t.Error(err)
	}
}

// Cloud Storage rejects names of buckets that contain google, and those of a cluster contain its ID.
func TestClusterIDsFitNamesOfBuckets(t *testing.T) {
	t.Parallel()
	for id, valid := range map[string]bool{"lab": true, "goo-gle": true, "my-google-lab": false, "g00gle": false} {
		var g spec.GCP
		settings := map[string]string{"project": "my-lab-123", "region": "us-central1", "inbound-cidr": "203.0.113.7/32"}
		if err := spec.GCPFlags().Read(&g, id, settings); (err == nil) != valid {
			t.Errorf("%s: got %v, want it valid: %t", id, err, valid)
		}
	}
}
