package checks_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/api/compute/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/orgpolicy/v2"
	"google.golang.org/api/storage/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/identity"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/installer/target/gcp/checks"
	"github.com/det-deploy/det-deploy/installer/target/gcp/control"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// lab is a project with the configuration of a cluster.
type lab struct {
	world *gcptest.World
	// The owner's clients, with which a test prepares the project.
	api.Clients

	caller   string
	settings map[string]string
}

func newLab(t *testing.T, o gcptest.Options, flags ...string) *lab {
	t.Helper()
	l := &lab{world: gcptest.New(t, o), settings: map[string]string{
		"project": gcptest.Project, "region": "us-central1", "inbound-cidr": "203.0.113.0/24",
	}}
	l.Clients = l.clients(t, "")
	for i := 0; i < len(flags); i += 2 {
		l.settings[flags[i]] = flags[i+1]
	}
	return l
}

func (l *lab) clients(t *testing.T, member string) api.Clients {
	t.Helper()
	c, err := api.New(t.Context(), l.world.Client(member), api.Options{Project: gcptest.Project, Region: "us-central1"})
	must(t, err)
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// subject returns the cluster as a new process opens it.
func (l *lab) subject(t *testing.T) checks.Subject {
	t.Helper()
	c := l.clients(t, l.caller)
	s := checks.Subject{
		Clients: c, Caller: facts.Caller{Identity: "ann@example.com", Project: gcptest.Project, Number: gcptest.Number},
		Owner: &mark.Cluster{ID: "lab", Number: gcptest.Number, Clients: c}, Control: control.Open(c, "lab", gcptest.Number),
		Placeholder: func() (hosted.Live, error) { return hosted.Live{}, nil },
	}
	must(t, spec.GCPFlags().Read(&s.Spec, "lab", l.settings))
	known, err := s.Look(t.Context(), l.Clients, func(context.Context) (bool, error) { return false, nil })
	must(t, err)
	s.Known = known
	s.Cluster = hosted.New(t.Context(), hosted.Setup{
		Common: s.Spec.Common, Agents: s.Spec.Agents.Agents, Aux: s.Spec.AuxPool.Pool,
		Options: hosted.Options{Secrets: secret.Resolver{LookupEnv: func(string) (string, bool) { return "", false }}},
		Parts: hosted.Parts{
			Words:   hosted.Words{Noun: "gcp", Scheme: secret.GCP, Vault: "Secret Manager", MasterHost: "internal-ip", Inbound: "--inbound-cidr"},
			Objects: control.Objects{Bucket: s.Control, Gated: c}, Machines: s.Layout,
		},
	})
	return s
}

// check runs the check of that name and fails the test if the check changes anything.
func (l *lab) check(t *testing.T, name string) doctor.Result {
	t.Helper()
	all := l.subject(t).List()
	i := slices.IndexFunc(all, func(c doctor.Check) bool { return c.Name == name })
	if i < 0 {
		var names []string
		for _, c := range all {
			names = append(names, c.Name)
		}
		t.Fatalf("got no check %q, there are %q", name, names)
	}
	before := l.world.Changes()
	r := all[i].Look(t.Context())
	if n := l.world.Changes() - before; n > 0 {
		t.Errorf("got %d changes by looking, want none", n)
	}
	return r
}

func (l *lab) want(t *testing.T, name string, answer doctor.Answer, found, fix string) {
	t.Helper()
	r := l.check(t, name)
	if r.Answer != answer || !strings.Contains(r.Found, found) || !strings.Contains(r.Fix, fix) {
		t.Errorf("%s: got %s: found %q, needed %q, fix %q; want %s with %q and %q", name, r.Answer, r.Found, r.Needed, r.Fix, answer, found, fix)
	}
	if r.Answer != doctor.Pass && r.Needed == "" {
		t.Errorf("%s: got nothing that is needed", name)
	}
}

// giveDisk creates a disk of the user.
func (l *lab) giveDisk(t *testing.T, zone string, d *compute.Disk) {
	t.Helper()
	d.Type = "projects/" + gcptest.Project + "/zones/" + zone + "/diskTypes/pd-balanced"
	must(t, api.Run(t.Context(), l.Clients, l.Compute.Disks.Insert(l.Project, zone, d)))
}

func TestChecksOfANewClusterPass(t *testing.T) {
	t.Parallel()
	l := newLab(t, gcptest.Options{})
	for _, c := range l.subject(t).List() {
		if slices.Contains([]string{"programs", "configuration"}, c.Name) {
			continue // needs the vault and the programs of a target
		}
		if r := c.Look(t.Context()); r.Answer != doctor.Pass {
			t.Errorf("%s: got %s: %s, want pass", c.Name, r.Answer, r.Found)
		}
	}
}

const shielded = "aux_pool: {base_config: {shieldedInstanceConfig: {enableSecureBoot: true}}}\npools: {p: {base_config: {shieldedInstanceConfig: {enableSecureBoot: true}}}}\n"

func TestChecksReportProblems(t *testing.T) {
	t.Parallel()
	no := &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule{DenyAll: true}
	enforced := &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule{Enforce: true}
	only := func(values ...string) *orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule {
		return &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule{Values: &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRuleStringValues{AllowedValues: values}}
	}
	constrain := func(name string, r *orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule) func(*gcptest.World) {
		return func(w *gcptest.World) { w.Constrain(gcptest.Project, name, r) }
	}
	limit := func(metric string, n float64) func(*gcptest.World) {
		return func(w *gcptest.World) { w.SetQuota(gcptest.Project, metric, n) }
	}
	const noPolicies = "organization policies"
	for _, tc := range []struct {
		name  string
		flags []string
		world func(*gcptest.World)
		check string
		want  doctor.Answer
		found string
		fix   string
	}{
		{"GPUs that Google has no more", []string{"machine", "n1-standard-8+1xnvidia-tesla-k80"}, nil, "machine types", doctor.Fail, "nvidia-tesla-k80 is not offered in any zone", "--machine"},
		{"a number of GPUs", []string{"machine", "n1-standard-8+3xnvidia-tesla-t4"}, nil, "machine types", doctor.Fail, "machines support 1, 2 or 4", "--machine"},
		{"too many vCPUs for a GPU", []string{"machine", "n1-standard-16+1xnvidia-tesla-v100"}, nil, "machine types", doctor.Fail, "at most 12", ""},
		{"a type offered elsewhere", []string{"machine", "a2-ultragpu-1g", "pool-zone", "us-central1-f"}, nil, "machine types", doctor.Fail, "pool compute-pool: a2-ultragpu-1g is offered in none of its zones", "--pool-zone"},
		{"types of different slots", []string{"machine", "g2-standard-4,g2-standard-24"}, nil, "machine types", doctor.Fail, "g2-standard-24 has 2 GPUs, g2-standard-4 has 1", ""},
		{"a compute pool without GPUs", []string{"machine", "n2-standard-4"}, nil, "machine types", doctor.Unknown, "--cpu-slots", ""},
		{"a master with little memory", []string{"master-machine-type", "n1-standard-1"}, nil, "machine types", doctor.Fail, "n1-standard-1 has 3840 MB", "--master-machine-type"},
		{"a disk that machines do not take", []string{"agent-boot-disk-type", "pd-standard"}, nil, "machine types", doctor.Fail, "pool compute-pool: g2-standard-4 does not support disks of type pd-standard, only pd-balanced", "--agent-boot-disk-type"},
		{"a data disk that the master does not take", []string{"master-machine-type", "c3-standard-4", "data-disk-type", "pd-standard"}, nil, "machine types", doctor.Fail, "the master: c3-standard-4 does not support disks of type pd-standard", "--data-disk-type"},
		{"machines of one's own measure", []string{"machine", "custom-6-20480+1xnvidia-tesla-t4"}, nil, "machine types", doctor.Pass, "custom-6-20480+1xnvidia-tesla-t4", ""},
		{"old GPUs", []string{"machine", "n1-standard-8+1xnvidia-tesla-v100"}, nil, "GPU drivers", doctor.Unknown, "nvidia-tesla-v100 is older", "--agent-image"},
		{"old GPUs with an image of the user's", []string{"machine", "n1-standard-8+1xnvidia-tesla-v100", "agent-image", gcptest.ImageGPU}, nil, "GPU drivers", doctor.Pass, "", ""},
		{"an image for another architecture", []string{"agent-image", gcptest.ImageARM}, nil, "images", doctor.Fail, "is for arm64", "--agent-image"},
		{"an image that is not there", []string{"master-image", "nobodys"}, nil, "images", doctor.Fail, "nobodys", ""},
		{"a large image", []string{"master-image", "ours", "master-boot-disk-size", "20"}, func(w *gcptest.World) { w.GiveImage(gcptest.Project, "ours", "ours", 40) }, "images", doctor.Fail, "needs 40 GB and the master has 20", "--master-boot-disk-size"},
		{"an image that is not kept up", []string{"master-image", "ours"}, func(w *gcptest.World) {
			w.GiveImage(gcptest.Project, "ours", "ours", 40)
			w.WithdrawImage(gcptest.Project, "ours", &compute.DeprecationStatus{State: "DEPRECATED"})
		}, "images", doctor.Unknown, "is deprecated", "--master-image"},
		{"an image that was withdrawn", []string{"master-image", "ours"}, func(w *gcptest.World) {
			w.GiveImage(gcptest.Project, "ours", "ours", 40)
			w.WithdrawImage(gcptest.Project, "ours", &compute.DeprecationStatus{State: "OBSOLETE"})
		}, "images", doctor.Fail, "is obsolete", ""},
		{"no GPUs left", nil, limit("NVIDIA_L4_GPUS", 0), "quotas", doctor.Fail, "NVIDIA_L4_GPUS in us-central1: 0 left, 5 needed", "iam-admin/quotas"},
		{"GPUs for some machines", nil, limit("NVIDIA_L4_GPUS", 2), "quotas", doctor.Unknown, "2 left, 5 needed with all machines", ""},
		{"no GPUs in the project", nil, limit("GPUS_ALL_REGIONS", 0), "quotas", doctor.Fail, "GPUS_ALL_REGIONS in all regions: 0 left", "or run without GPUs with --machine n2-standard-8 --cpu-slots"},
		{"no network left", nil, limit("NETWORKS", 1), "quotas", doctor.Fail, "NETWORKS in all regions: 0 left, 1 needed", ""},
		{"no address left", nil, limit("STATIC_ADDRESSES", 0), "quotas", doctor.Fail, "STATIC_ADDRESSES in us-central1: 0 left", ""},
		{"a quota that Google does not publish", []string{"machine", "a3-highgpu-8g"}, nil, "quotas", doctor.Unknown, "Google publishes no quota of on-demand nvidia-h100-80gb", ""},
		{"spot machines that fall back", []string{"machine", "n1-standard-8+1xnvidia-tesla-t4", "spot", "true", "spot-fallback", "true"}, limit("NVIDIA_T4_GPUS", 1), "quotas", doctor.Unknown, "NVIDIA_T4_GPUS in us-central1: 1 left, 5 needed", ""},
		{"no addresses for agents", nil, constrain("compute.vmExternalIpAccess", only("projects/acme-ml/zones/us-central1-a/instances/det-lab-master")), noPolicies, doctor.Fail, "forbids external addresses of agents", "--nat"},
		{"no addresses at all", []string{"agent-external-ip", "false", "nat", "true"}, constrain("compute.vmExternalIpAccess", no), noPolicies, doctor.Fail, "forbids an external address of the master", "gcloud org-policies describe compute.vmExternalIpAccess --project acme-ml"},
		{"an address of the master alone", []string{"agent-external-ip", "false", "nat", "true"}, constrain("compute.vmExternalIpAccess", only("projects/acme-ml/zones/us-central1-a/instances/det-lab-master")), noPolicies, doctor.Pass, "", ""},
		{"another place", nil, constrain("gcp.resourceLocations", only("europe-west4")), noPolicies, doctor.Fail, "forbids resources in us-central1", "--region"},
		{"places by their group", nil, constrain("gcp.resourceLocations", only("in:us-locations")), noPolicies, doctor.Pass, "", ""},
		{"places by a group that is not known", nil, constrain("gcp.resourceLocations", only("in:northamerica-low-carbon")), noPolicies, doctor.Unknown, "lists value groups", ""},
		{"a region without its zones", nil, constrain("gcp.resourceLocations", only("us-central1")), noPolicies, doctor.Unknown, "only Google can tell whether they allow machines in us-central1-a", ""},
		{"a zone without its region", nil, constrain("gcp.resourceLocations", only("us-central1-a")), noPolicies, doctor.Fail, "forbids resources in us-central1", "--region"},
		{"a zone that only agents use", nil, constrain("gcp.resourceLocations", &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule{
			Values: &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRuleStringValues{DeniedValues: []string{"us-central1-b"}},
		}), noPolicies, doctor.Unknown, "forbids machines in us-central1-b", ""},
		{"the zone of the master", nil, constrain("gcp.resourceLocations", &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule{
			Values: &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRuleStringValues{DeniedValues: []string{"us-central1-a"}},
		}), noPolicies, doctor.Fail, "forbids machines in us-central1-a", "--zone"},
		{"images of others", nil, constrain("compute.trustedImageProjects", only("projects/ubuntu-os-cloud")), noPolicies, doctor.Fail, "images of project deeplearning-platform-release", "--agent-image"},
		{"accounts", nil, constrain("iam.disableServiceAccountCreation", enforced), noPolicies, doctor.Fail, "forbids service accounts", "--master-service-account"},
		{"guest attributes", []string{"agent-service-account", "none"}, constrain("compute.disableGuestAttributesAccess", enforced), noPolicies, doctor.Fail, "guest attributes", "--agent-service-account"},
		{"guest attributes that are not needed", nil, constrain("compute.disableGuestAttributesAccess", enforced), noPolicies, doctor.Pass, "", ""},
		{"keys of Google's", nil, constrain("gcp.restrictNonCmekServices", &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule{
			Values: &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRuleStringValues{DeniedValues: []string{"storage.googleapis.com"}},
		}), noPolicies, doctor.Fail, "forbids buckets with Google-managed keys", ""},
		{"services", nil, constrain("gcp.restrictServiceUsage", only("compute.googleapis.com")), noPolicies, doctor.Fail, "forbids the API secretmanager.googleapis.com", ""},
		{"NAT", []string{"agent-external-ip", "false", "nat", "true"}, constrain("compute.restrictCloudNATUsage", no), noPolicies, doctor.Fail, "forbids Cloud NAT", ""},
		{"objects that stay", nil, constrain("storage.softDeletePolicySeconds", only("604800")), noPolicies, doctor.Fail, "without soft delete", ""},
		{"machines that boot anything", nil, constrain("compute.requireShieldedVm", enforced), noPolicies, doctor.Fail, "without Secure Boot", "enableSecureBoot: true"},
		{"machines with Secure Boot", []string{spec.FileSetting, shielded}, constrain("compute.requireShieldedVm", enforced), noPolicies, doctor.Pass, "", ""},
		{"subnetworks without logs", nil, constrain("compute.requireVpcFlowLogs", only("ESSENTIAL", "LIGHT")), noPolicies, doctor.Fail, "a subnetwork without flow logs", "--subnetwork"},
		{"addresses of another network", []string{"network-cidr", "10.132.0.0/16"}, nil, "network", doctor.Unknown, "default of network default has 10.132.0.0/20", "--network-cidr"},
		{"too few addresses", []string{"network-cidr", "10.200.0.0/22", "max-agents", "1100"}, nil, "network", doctor.Fail, "addresses for 1020 machines", "--network-cidr"},
		{"a data disk that is there", []string{"data-disk", "mine"}, nil, "quotas", doctor.Pass, "SSD_TOTAL_GB in us-central1: 40760 left, 2050 needed", ""},
		{"rules for SSH", []string{"ssh", "true"}, nil, "quotas", doctor.Pass, "FIREWALLS in all regions: 198 left, 3 needed", ""},
		{"no image for all", []string{"machine", "n2-standard-4,t2a-standard-4"}, nil, "images", doctor.Fail, "no stock image supports all machines of a pool", "--agent-image"},
		{"no stock image", []string{"machine", "t2a-standard-4", "agent-image", gcptest.ImageARM, "aux-machine", "t2a-standard-4"}, nil, "images", doctor.Pass, "", ""},
		{"a clock that is wrong", nil, func(w *gcptest.World) { w.Advance(10 * time.Minute) }, "clock", doctor.Fail, "this machine's clock is -", "set the clock"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, gcptest.Options{}, tc.flags...)
			if tc.world != nil {
				tc.world(l.world)
			}
			if slices.Contains(tc.flags, "data-disk") {
				l.giveDisk(t, "us-central1-a", &compute.Disk{Name: "mine", SizeGb: 200})
			}
			l.want(t, tc.check, tc.want, tc.found, tc.fix)
		})
	}
}

// The usage that Google reports includes the cluster's own machines.
func TestQuotasCountOwnMachinesOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t, gcptest.Options{})
	l.world.SetQuota(gcptest.Project, "NVIDIA_L4_GPUS", 5)
	const zone = "projects/" + gcptest.Project + "/zones/us-central1-a/"
	insert := func(name, cluster string) {
		must(t, api.Run(t.Context(), l.Clients, l.Compute.Instances.Insert(l.Project, "us-central1-a", &compute.Instance{
			Name: name, MachineType: zone + "machineTypes/g2-standard-8", Labels: map[string]string{"det-deploy-cluster": cluster},
			Disks:             []*compute.AttachedDisk{{Boot: true, InitializeParams: &compute.AttachedDiskInitializeParams{SourceImage: gcptest.ImageAgent}}},
			Scheduling:        &compute.Scheduling{OnHostMaintenance: "TERMINATE"},
			NetworkInterfaces: []*compute.NetworkInterface{{Network: "global/networks/default"}},
		})))
	}
	insert("one", "lab")
	l.want(t, "quotas", doctor.Pass, "NVIDIA_L4_GPUS in us-central1: 5 left, 5 needed", "")
	insert("two", "lab-2")
	l.want(t, "quotas", doctor.Unknown, "NVIDIA_L4_GPUS in us-central1: 4 left, 5 needed", "")
}

func TestDisabledAPIs(t *testing.T) {
	t.Parallel()
	l := newLab(t, gcptest.Options{})
	l.world.Disable(gcptest.Project, "orgpolicy.googleapis.com")
	l.want(t, "APIs", doctor.Unknown, "not enabled: orgpolicy.googleapis.com; some checks cannot be made", "gcloud services enable orgpolicy.googleapis.com")
	l.world.Disable(gcptest.Project, "logging.googleapis.com")
	l.want(t, "APIs", doctor.Fail, "not enabled: logging.googleapis.com, orgpolicy.googleapis.com", "gcloud services enable logging.googleapis.com orgpolicy.googleapis.com --project acme-ml")
	l.world.Disable(gcptest.Project, "serviceusage.googleapis.com")
	l.want(t, "APIs", doctor.Unknown, "", "gcloud services enable serviceusage.googleapis.com")
	l.want(t, "organization policies", doctor.Unknown, "", "gcloud services enable orgpolicy.googleapis.com")
}

const bob = "user:bob@example.com"

// allow grants the caller these permissions only.
func (l *lab) allow(t *testing.T, permissions []string) {
	t.Helper()
	must(t, api.Send(t.Context(), l.IAM.Projects.Roles.Create(l.ProjectName(), &iam.CreateRoleRequest{RoleId: "bobs", Role: &iam.Role{Title: "bob", Stage: "GA", IncludedPermissions: permissions}})))
	l.world.Bind("projects/"+gcptest.Project, "projects/"+gcptest.Project+"/roles/bobs", bob)
	l.caller = bob
}

func without(lost ...string) []string {
	return slices.DeleteFunc(identity.InstallerPermissions(), func(p string) bool { return slices.Contains(lost, p) })
}

func TestPermissionsOfTheCaller(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		lost   string
		flags  []string
		answer doctor.Answer
		found  string
	}{
		{"", nil, doctor.Pass, "permissions granted"},
		{"compute.networks.create", nil, doctor.Fail, "ann@example.com may not: compute.networks.create"},
		{"compute.networks.create", []string{"network", "default", "subnetwork", "default"}, doctor.Pass, ""},
		{"compute.routers.create", nil, doctor.Pass, ""},
		{"compute.routers.create", []string{"nat", "true"}, doctor.Fail, "compute.routers.create"},
		{"compute.firewalls.create", []string{"network", "default", "subnetwork", "default"}, doctor.Fail, "compute.firewalls.create"},
		{"compute.firewalls.create", []string{"network", "default", "subnetwork", "default", "firewall", "existing"}, doctor.Pass, ""},
		{"orgpolicy.policy.get", nil, doctor.Unknown, "some checks or repairs cannot be made"},
		{"iam.roles.update", nil, doctor.Unknown, "iam.roles.update; some checks or repairs cannot be made"},
		{"serviceusage.services.enable", nil, doctor.Pass, ""},
		{"iam.roles.create", nil, doctor.Fail, "iam.roles.create"},
		{"iam.roles.create", []string{"master-service-account", "default", "agent-service-account", "none"}, doctor.Pass, ""},
	} {
		t.Run(tc.lost+strings.Join(tc.flags, " "), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, gcptest.Options{}, tc.flags...)
			l.allow(t, without(tc.lost))
			fix := ""
			if tc.answer != doctor.Pass {
				fix = "det-deploy gcp policy"
			}
			l.want(t, "permissions", tc.answer, tc.found, fix)
		})
	}
}

func TestPermissionsThatCannotBeTested(t *testing.T) {
	t.Parallel()
	l := newLab(t, gcptest.Options{})
	l.world.Disable(gcptest.Project, "cloudresourcemanager.googleapis.com")
	l.want(t, "permissions", doctor.Unknown, "", "gcloud services enable cloudresourcemanager.googleapis.com")
}

// existing creates a network of the user with sufficient firewall rules.
func existing(t *testing.T, l *lab) {
	t.Helper()
	must(t, api.Run(t.Context(), l.Clients, l.Compute.Networks.Insert(l.Project, &compute.Network{Name: "net", ForceSendFields: []string{"AutoCreateSubnetworks"}})))
	must(t, api.Run(t.Context(), l.Clients, l.Compute.Subnetworks.Insert(l.Project, l.Region, &compute.Subnetwork{Name: "sub", Network: "global/networks/net", IpCidrRange: "10.50.0.0/24"})))
	must(t, api.Run(t.Context(), l.Clients, l.Compute.Firewalls.Insert(l.Project, &compute.Firewall{
		Name: "inside", Network: "global/networks/net", SourceRanges: []string{"10.50.0.0/24"}, Allowed: []*compute.FirewallAllowed{{IPProtocol: "tcp"}},
	})))
	must(t, api.Run(t.Context(), l.Clients, l.Compute.Firewalls.Insert(l.Project, &compute.Firewall{
		Name: "people", Network: "global/networks/net", SourceRanges: []string{"203.0.113.0/24"}, Allowed: []*compute.FirewallAllowed{{IPProtocol: "tcp", Ports: []string{"8443"}}},
	})))
	l.settings["network"], l.settings["subnetwork"], l.settings["firewall"] = "net", "sub", "existing"
}

func TestAnExistingNetwork(t *testing.T) {
	t.Parallel()
	l := newLab(t, gcptest.Options{})
	existing(t, l)
	l.want(t, "network", doctor.Pass, "sub with 10.50.0.0/24 in net", "")
	l.settings["max-agents"] = "300"
	l.want(t, "network", doctor.Fail, "10.50.0.0/24 has addresses for 252 machines, but there may be 306", "--subnetwork")
	delete(l.settings, "max-agents")
	l.settings["agent-external-ip"] = "false"
	l.want(t, "network", doctor.Fail, "no router of the region has Cloud NAT for sub", "or set --agent-external-ip")
	l.settings["https-proxy"] = "http://10.50.0.9:3128"
	l.want(t, "network", doctor.Pass, "sub with 10.50.0.0/24 in net", "")
	delete(l.settings, "https-proxy")
	must(t, api.Run(t.Context(), l.Clients, l.Compute.Routers.Insert(l.Project, l.Region, &compute.Router{
		Name: "out", Network: "global/networks/net",
		Nats: []*compute.RouterNat{{Name: "nat", NatIpAllocateOption: "AUTO_ONLY", SourceSubnetworkIpRangesToNat: "ALL_SUBNETWORKS_ALL_IP_RANGES"}},
	})))
	l.want(t, "network", doctor.Pass, "", "")
	l.world.SetRoute(gcptest.Project, "net", func(r *compute.Route) {
		r.NextHopGateway, r.NextHopInstance = "", "projects/acme-ml/zones/us-central1-a/instances/wall"
	})
	l.want(t, "network", doctor.Unknown, "the default route goes through wall", "--subnetwork")
	l.world.SetRoute(gcptest.Project, "net", func(r *compute.Route) { r.Tags = []string{"web"} })
	l.settings["agent-external-ip"] = "true"
	if fix := l.check(t, "network").Fix; strings.Contains(fix, "external-ip") {
		t.Errorf("got %q, want no flag that is set already", fix)
	}
	l.settings["agent-external-ip"] = "false"
	l.want(t, "network", doctor.Fail, "net has no route to the internet", "add a route")
	must(t, api.Run(t.Context(), l.Clients, l.Compute.Subnetworks.Insert(l.Project, l.Region, &compute.Subnetwork{Name: "proxies", Network: "global/networks/net", IpCidrRange: "10.51.0.0/24", Purpose: "REGIONAL_MANAGED_PROXY"})))
	l.settings["subnetwork"] = "proxies"
	l.want(t, "network", doctor.Fail, "proxies is for REGIONAL_MANAGED_PROXY", "--subnetwork")
	l.settings["network"], l.settings["subnetwork"] = "default", "sub"
	l.want(t, "network", doctor.Fail, "sub is a subnetwork of net", "--network")
	l.settings["subnetwork"] = "nobodys"
	l.want(t, "network", doctor.Fail, "subnetwork nobodys", "")
}

func TestRulesOfAnExistingNetwork(t *testing.T) {
	t.Parallel()
	l := newLab(t, gcptest.Options{})
	existing(t, l)
	l.want(t, "firewall rules", doctor.Pass, "2 rules of net", "")
	must(t, api.Run(t.Context(), l.Clients, l.Compute.Firewalls.Insert(l.Project, &compute.Firewall{
		Name: "inwards", Network: "global/networks/net", Direction: "EGRESS", TargetTags: []string{"det-lab-master"}, DestinationRanges: []string{"0.0.0.0/0"},
		Denied: []*compute.FirewallDenied{{IPProtocol: "all"}},
	})))
	l.want(t, "firewall rules", doctor.Fail, "the master has no access to the internet", "--firewall own")
	must(t, api.Run(t.Context(), l.Clients, l.Compute.Firewalls.Delete(l.Project, "inwards")))
	must(t, api.Run(t.Context(), l.Clients, l.Compute.Firewalls.Delete(l.Project, "people")))
	l.want(t, "firewall rules", doctor.Unknown, "203.0.113.0/24 does not reach the master on port 8443", "det-lab-master")
	must(t, api.Run(t.Context(), l.Clients, l.Compute.Firewalls.Delete(l.Project, "inside")))
	l.want(t, "firewall rules", doctor.Fail, "agents do not reach the master on port 8443; the master does not reach agents on ports 1024 to 65535; agents do not reach each other", "--firewall own")
	must(t, api.Run(t.Context(), l.Clients, l.Compute.Firewalls.Insert(l.Project, &compute.Firewall{
		Name: "tagged", Network: "global/networks/net", SourceTags: []string{"ml"}, TargetTags: []string{"ml"}, Allowed: []*compute.FirewallAllowed{{IPProtocol: "all"}},
	})))
	l.settings["network-tag"] = "ml"
	l.want(t, "firewall rules", doctor.Unknown, "203.0.113.0/24 does not reach", "")
}

// A rule of the user with the priority of the cluster's rules denies what those allow.
func TestRuleThatOverridesTheClusters(t *testing.T) {
	t.Parallel()
	l := newLab(t, gcptest.Options{})
	const check = "firewall rules"
	l.want(t, check, doctor.Pass, "the cluster's own rules apply", "")
	must(t, api.Run(t.Context(), l.Clients, l.Compute.Networks.Insert(l.Project, &compute.Network{Name: "det-lab", ForceSendFields: []string{"AutoCreateSubnetworks"}})))
	must(t, api.Run(t.Context(), l.Clients, l.Compute.Firewalls.Insert(l.Project, &compute.Firewall{
		Name: "closed", Network: "global/networks/det-lab", SourceRanges: []string{"0.0.0.0/0"}, Denied: []*compute.FirewallDenied{{IPProtocol: "tcp", Ports: []string{"8443"}}},
	})))
	l.want(t, check, doctor.Unknown, "by rule closed, agents do not reach the master on port 8443", "priority to more than 1000")
	must(t, api.Run(t.Context(), l.Clients, l.Compute.Firewalls.Patch(l.Project, "closed", &compute.Firewall{Priority: 2000})))
	l.want(t, check, doctor.Pass, "", "")
}

func TestSharedNetwork(t *testing.T) {
	t.Parallel()
	l := newLab(t, gcptest.Options{})
	l.world.AddProject("hosts-lab", 77)
	host := l.In("hosts-lab")
	must(t, api.Run(t.Context(), host, host.Compute.Firewalls.Insert(host.Project, &compute.Firewall{
		Name: "inside", Network: "global/networks/default", SourceRanges: []string{"10.132.0.0/20", "203.0.113.0/24"}, Allowed: []*compute.FirewallAllowed{{IPProtocol: "tcp"}},
	})))
	for flag, value := range map[string]string{"host-project": "hosts-lab", "network": "default", "subnetwork": "default", "firewall": "existing", "share-access": "true"} {
		l.settings[flag] = value
	}
	l.want(t, "network", doctor.Pass, "", "")
	l.want(t, "firewall rules", doctor.Pass, "", "")
	l.want(t, "shared subnetwork", doctor.Pass, "", "")
	l.world.Constrain(gcptest.Project, "compute.restrictSharedVpcSubnetworks", &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule{
		Values: &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRuleStringValues{AllowedValues: []string{"under:projects/others"}},
	})
	l.want(t, "organization policies", doctor.Unknown, "the shared subnetwork default", "")
	l.world.Constrain(gcptest.Project, "compute.restrictSharedVpcSubnetworks", &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule{
		Values: &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRuleStringValues{AllowedValues: []string{"under:projects/hosts-lab"}},
	})
	l.want(t, "organization policies", doctor.Pass, "", "")
	delete(l.settings, "share-access")
	l.want(t, "shared subnetwork", doctor.Unknown, "not checked", "--member serviceAccount:det-m-lab@acme-ml.iam.gserviceaccount.com --role roles/compute.networkUser")
	l.allow(t, identity.InstallerPermissions())
	l.want(t, "shared subnetwork", doctor.Fail, "may not: compute.subnetworks.use", "ask an administrator of project hosts-lab")
	l.want(t, "network", doctor.Unknown, "", "")
	l.settings["subnetwork"] = "nobodys"
	l.caller = ""
	l.want(t, "shared subnetwork", doctor.Fail, "", "")
}

func TestExistingResources(t *testing.T) {
	t.Parallel()
	l := newLab(t, gcptest.Options{})
	const zone = "projects/" + gcptest.Project + "/zones/us-central1-b/"
	l.giveDisk(t, "us-central1-b", &compute.Disk{Name: "mine", SizeGb: 200})
	must(t, api.Run(t.Context(), l.Clients, l.Compute.Snapshots.Insert(l.Project, &compute.Snapshot{Name: "older", SourceDisk: zone + "disks/mine"})))
	l.settings["data-disk"] = "mine"
	l.want(t, "data disk mine", doctor.Pass, "in us-central1-b", "")
	l.settings["zone"] = "us-central1-a"
	l.want(t, "data disk mine", doctor.Fail, "mine is in us-central1-b, and the master's zone is us-central1-a", "--zone us-central1-b")
	delete(l.settings, "zone")
	l.settings["master-machine-type"] = "a2-ultragpu-1g"
	l.want(t, "data disk mine", doctor.Fail, "us-central1-b, which does not offer a2-ultragpu-1g", "--master-machine-type")
	delete(l.settings, "master-machine-type")
	delete(l.settings, "data-disk")
	l.settings["data-snapshot"] = "older"
	l.want(t, "snapshot older", doctor.Fail, "it has 200 GB", "--data-disk-size 200")
	l.settings["data-snapshot"] = "nobodys"
	l.want(t, "snapshot nobodys", doctor.Fail, "", "--data-snapshot")

	l.settings["data-bucket"] = "theirs"
	l.want(t, "data bucket theirs", doctor.Fail, "", "--data-bucket")
	must(t, api.Send(t.Context(), l.Storage.Buckets.Insert(l.Project, &storage.Bucket{Name: "theirs", Location: "us-central1"})))
	l.want(t, "data bucket theirs", doctor.Pass, "", "")
	l.want(t, "data bucket may be shared", doctor.Pass, "", "")

	l.world.Bind("buckets/theirs", "roles/storage.objectUser", bob)
	l.allow(t, without("storage.buckets.setIamPolicy"))
	l.want(t, "data bucket may be shared", doctor.Fail, "may not: storage.buckets.setIamPolicy", "Storage Admin")
	l.settings["master-service-account"], l.settings["agent-service-account"] = "default", "default"
	l.want(t, "data bucket may be shared", doctor.Pass, "", "")
	l.caller = ""

	l.settings["db-url"] = "gcp-sm:theirs"
	l.want(t, "secret theirs", doctor.Fail, "", "Secret Manager")
}

func TestExistingAccounts(t *testing.T) {
	t.Parallel()
	l := newLab(t, gcptest.Options{})
	boss := l.world.GiveAccount(gcptest.Project, "boss")
	l.settings["master-service-account"], l.settings["agent-service-account"] = boss, "none"
	l.want(t, "master's account "+boss, doctor.Pass, "", "")
	l.want(t, "master's account may be used", doctor.Pass, "", "")
	l.want(t, "master's roles", doctor.Unknown, "has no role in project acme-ml", "gcloud projects add-iam-policy-binding acme-ml --member serviceAccount:"+boss)
	l.world.Bind("projects/"+gcptest.Project, "roles/compute.admin", "serviceAccount:"+boss)
	l.want(t, "master's roles", doctor.Pass, "roles/compute.admin", "")
	l.allow(t, without("iam.serviceAccounts.actAs"))
	l.want(t, "master's account may be used", doctor.Fail, "may not attach it to machines", "roles/iam.serviceAccountUser")
	l.settings["master-service-account"] = "nobody@acme-ml.iam.gserviceaccount.com"
	l.want(t, "master's account nobody@acme-ml.iam.gserviceaccount.com", doctor.Fail, "", "--master-service-account")
	l.settings["master-service-account"] = "default"
	l.caller = ""
	l.want(t, "master's roles", doctor.Pass, "roles/editor", "")
}

func TestBaseConfig(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, disks string
		want        doctor.Answer
		found       string
	}{
		{"a disk that several machines read", "[{mode: READ_ONLY, source: zones/us-central1-b/disks/second}]", doctor.Pass, "1 further disks"},
		{"a full link", "[{mode: READ_ONLY, source: 'https://www.googleapis.com/compute/v1/projects/acme-ml/zones/us-central1-b/disks/second'}]", doctor.Pass, ""},
		{"a disk that is written to", "[{source: zones/us-central1-b/disks/second}]", doctor.Fail, "second is writable by one machine only, but the pool may have 5"},
		{"a disk that goes with the first machine", "[{mode: READ_ONLY, autoDelete: true, source: zones/us-central1-b/disks/second}]", doctor.Fail, "set autoDelete: false"},
		{"a disk that is not there", "[{mode: READ_ONLY, source: zones/us-central1-b/disks/nobodys}]", doctor.Fail, "disks[0]: compute.disks.get"},
		{"a disk of another region", "[{mode: READ_ONLY, source: zones/europe-west4-a/disks/second}]", doctor.Fail, "second is in europe-west4-a, and the cluster in us-central1"},
		{"a disk where there are no such machines", "[{mode: READ_ONLY, source: zones/us-central1-f/disks/far}]", doctor.Fail, "far is in us-central1-f, which offers none of the pool's machines"},
		{"a disk that another machine writes to", "[{mode: READ_ONLY, source: zones/us-central1-b/disks/taken}]", doctor.Fail, "taken is attached to other for writing"},
		{"a disk that several machines write to", "[{source: zones/us-central1-b/disks/many}]", doctor.Pass, ""},
		{"a regional disk", "[{mode: READ_ONLY, source: regions/us-central1/disks/mirrored}]", doctor.Fail, "mirrored is in us-central1-a and us-central1-b, and the pool in us-central1-c too"},
		{"a regional disk that is not there", "[{mode: READ_ONLY, source: regions/us-central1/disks/second}]", doctor.Fail, "second is no regional disk of us-central1"},
		{"a regional disk of another region", "[{mode: READ_ONLY, source: regions/europe-west4/disks/mirrored}]", doctor.Fail, "mirrored is in europe-west4, and the cluster in us-central1"},
		{"a small disk", "[{initializeParams: {diskSizeGb: 20, sourceImage: " + gcptest.ImageGPU + "}}]", doctor.Fail, "diskSizeGb is 20"},
		{"a disk from a snapshot that is larger", "[{initializeParams: {diskSizeGb: 20, sourceSnapshot: global/snapshots/older}}]", doctor.Fail, "snapshot older is of 100 GB"},
		{"a new disk", "[{initializeParams: {diskSizeGb: 500}}]", doctor.Pass, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, gcptest.Options{})
			disk := func(zone, name string) { l.giveDisk(t, zone, &compute.Disk{Name: name, SizeGb: 100}) }
			disk("us-central1-b", "second")
			l.giveDisk(t, "us-central1-b", &compute.Disk{Name: "many", SizeGb: 100, AccessMode: "READ_WRITE_MANY"})
			l.world.GiveRegionalDisk(gcptest.Project, "us-central1", "mirrored", 100)
			disk("us-central1-b", "taken")
			disk("us-central1-f", "far")
			const zone = "projects/" + gcptest.Project + "/zones/us-central1-b/"
			must(t, api.Run(t.Context(), l.Clients, l.Compute.Snapshots.Insert(l.Project, &compute.Snapshot{Name: "older", SourceDisk: zone + "disks/second"})))
			must(t, api.Run(t.Context(), l.Clients, l.Compute.Instances.Insert(l.Project, "us-central1-b", &compute.Instance{
				Name: "other", MachineType: zone + "machineTypes/n2-standard-2", NetworkInterfaces: []*compute.NetworkInterface{{Network: "global/networks/default"}},
				Disks: []*compute.AttachedDisk{{Boot: true, InitializeParams: &compute.AttachedDiskInitializeParams{SourceImage: gcptest.ImageDebian}}, {Source: zone + "disks/taken", Mode: "READ_WRITE"}},
			})))
			l.settings[spec.FileSetting] = "pools: {p: {base_config: {disks: " + tc.disks + "}}}\n"
			fix := "base_config of p"
			if tc.want == doctor.Pass {
				fix = ""
			}
			l.want(t, "base_config of p", tc.want, tc.found, fix)
		})
	}
}

// A bucket name taken by another project is reported before anything is created.
func TestCheckReportsBucketOfAnotherProject(t *testing.T) {
	t.Parallel()
	l := newLab(t, gcptest.Options{})
	l.world.AddProject("others", 99)
	must(t, api.Send(t.Context(), l.In("others").Storage.Buckets.Insert("others", &storage.Bucket{Name: control.Name("lab", gcptest.Number), Location: "us-central1"})))
	l.want(t, "names", doctor.Fail, "belongs to project 99", "--cluster-id")
}
