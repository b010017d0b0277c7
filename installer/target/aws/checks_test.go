package aws_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/hosted/program"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

func check(t *testing.T, s *stage) map[string]doctor.Result {
	t.Helper()
	in, _, err := s.operator(t.Context())
	must(t, err)
	out := map[string]doctor.Result{}
	for _, r := range in.Check(t.Context()).Results {
		out[r.Name] = r
	}
	return out
}

func TestChecksOfANewClusterPass(t *testing.T) {
	t.Parallel()
	for name, r := range check(t, newStage(inMemory(awstest.Options{}))) {
		if r.Answer != doctor.Pass {
			t.Errorf("%s: got %s: %s, want pass", name, r.Answer, r.Found)
		}
	}
}

func TestChecksReportProblems(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		flags []string
		world func(*awstest.World)
		stage func(*stage)
		check string
		want  doctor.Answer
		found string
		fix   string
	}{
		{"no vCPUs left", nil, func(w *awstest.World) { w.SetQuota("L-DB2E81BA", 2) }, nil, "quotas", doctor.Fail, "G and VT on-demand instances: 2 left, 20 needed", "servicequotas"},
		{"vCPUs for some machines", nil, func(w *awstest.World) { w.SetQuota("L-DB2E81BA", 8) }, nil, "quotas", doctor.Unknown, "8 left, 20 needed with all machines", "--"[:0]},
		{"no address left", nil, func(w *awstest.World) { w.SetQuota("L-0263D0A3", 0) }, nil, "quotas", doctor.Fail, "Elastic IP addresses: 0 left", ""},
		{"no network left", nil, func(w *awstest.World) { w.SetQuota("L-F678F1CE", 1) }, nil, "quotas", doctor.Fail, "VPCs: 0 left", ""},
		{"quotas may not be asked", nil, func(w *awstest.World) { w.Deny("servicequotas:GetServiceQuota") }, nil, "quotas", doctor.Unknown, "", ""},
		{"a key pair that is not there", []string{"key-pair", "nobody"}, nil, nil, "key pair", doctor.Fail, `no key pair "nobody"`, "--key-pair"},
		{"a type offered elsewhere", []string{"instance-type", "p5.48xlarge", "zone", "us-west-2a"}, nil, nil, "instance types", doctor.Fail, "pool compute-pool: p5.48xlarge is offered in none of its zones", "--zone"},
		{"types of different slots", []string{"instance-type", "g5.xlarge,g5.12xlarge"}, nil, nil, "instance types", doctor.Fail, "g5.12xlarge has 4 GPUs, g5.xlarge has 1", ""},
		{"a compute pool without GPUs", []string{"instance-type", "c5.2xlarge"}, nil, nil, "instance types", doctor.Unknown, "--cpu-slots", ""},
		{"a master with little memory", []string{"master-instance-type", "t3.micro"}, nil, nil, "instance types", doctor.Fail, "t3.micro has 1024 MB of memory", "--master-instance-type"},
		{"GPUs of AMD", []string{"instance-type", "g4ad.xlarge"}, nil, nil, "GPU drivers", doctor.Fail, "pool compute-pool: g4ad.xlarge has AMD GPUs", "such as g4dn.xlarge"},
		{"GPUs of AMD with an image that has the driver", []string{"instance-type", "g4ad.xlarge", "agent-image", awstest.ImageGPUAMD64}, nil, nil, "GPU drivers", doctor.Pass, "", ""},
		{"accelerators of Habana", []string{"instance-type", "dl1.24xlarge", "zone", "us-west-2b"}, nil, nil, "GPU drivers", doctor.Fail, "Habana GPUs", "such as p4d.24xlarge"},
		{"GPUs before Turing", []string{"instance-type", "p3.2xlarge"}, nil, nil, "GPU drivers", doctor.Fail, "V100 GPUs (Volta)", "such as g4dn.xlarge"},
		{"an image for another architecture", []string{"agent-image", awstest.ImageGPUARM64}, nil, nil, "images", doctor.Fail, "is for arm64", "--agent-image"},
		{"an image that is not there", []string{"master-image", "ami-0123456789abcdef0"}, nil, nil, "images", doctor.Fail, "ami-0123456789abcdef0", ""},
		{"no program for the architecture", []string{"master-instance-type", "m6g.large"}, nil, func(s *stage) {
			s.Programs = program.Set{"amd64": s.Programs["amd64"]}
		}, "programs", doctor.Fail, "missing for linux/arm64", "--binary arm64=PATH, or choose"},
		{"a program for macOS", nil, nil, func(s *stage) {
			s.Programs = program.Set{}
		}, "programs", doctor.Fail, "missing for linux/amd64", "archive linux-amd64 of this version with --binary amd64=PATH"},
		{"never used spot", []string{"spot", "true"}, nil, nil, "spot", doctor.Pass, "never used spot instances; `up` creates the service-linked role", ""},
		{"agents without a way out", []string{"agent-public-ip", "false"}, nil, nil, "agents' internet access", doctor.Fail, "no NAT gateway", "--vpc"},
		{"addresses of another network", []string{"network-cidr", "172.31.0.0/16"}, nil, nil, "network", doctor.Unknown, "172.31.0.0/16", "--network-cidr"},
		{"something may not be done", nil, func(w *awstest.World) { w.Deny("ec2:CreateVpc") }, nil, "permissions", doctor.Fail, "ec2:CreateVpc", "aws policy"},
		{"a dry run is allowed and a simulation not", nil, func(w *awstest.World) { w.Deny("iam:SimulatePrincipalPolicy") }, nil, "permissions", doctor.Unknown, "cannot simulate", "continue"},
		{"something else may not be done", nil, func(w *awstest.World) { w.Deny("iam:CreateRole") }, nil, "permissions", doctor.Fail, "not allowed: iam:CreateRole", "aws policy"},
		{"a data bucket that is not there", []string{"data-bucket", "somebodys"}, nil, nil, "data bucket somebodys", doctor.Fail, "", "--data-bucket"},
		{"a role that is not there", []string{"log-group", "their/logs"}, nil, nil, "log group their/logs", doctor.Fail, "does not exist", "--log-group"},
		{"a secret that cannot be read here", []string{"db-url", "file:/nowhere/url"}, nil, nil, "secret db-url", doctor.Fail, "the file does not exist", "aws-sm:NAME"},
		{"a secret of theirs that is not there", []string{"db-url", "aws-sm:theirs"}, nil, nil, "secret theirs", doctor.Fail, "", "Secrets Manager"},
		{"a key of master.yaml that does not exist", []string{"master-config-file", "portt: 1\n"}, nil, nil, "configuration", doctor.Fail, "--master-config-file:1: portt: unknown key", "--master-config-file"},
		{"a setting that is not built", []string{"master-config-file", "feature_switches: [prometheus]\n"}, nil, nil, "configuration", doctor.Fail, "--master-config-file:1: feature_switches", "--master-config-file"},
		{"agents that would not start", []string{"master-config-file", "resource_manager: {default_aux_resource_pool: p, default_compute_resource_pool: p}\nresource_pools: [{pool_name: p, provider: {type: aws, image_id: ami-1, iam_instance_profile_arn: 'arn:aws:iam::1:instance-profile/a', agent_config_file_contents: {slot_typ: cpu}}}]\n"}, nil, nil, "configuration", doctor.Fail, "--master-config-file:2: resource_pools[0].provider.agent_config_file_contents: is not a valid agent configuration", "--master-config-file"},
		{"another port than the rules let in", []string{"master-config-file", "port: 9000\n"}, nil, nil, "configuration", doctor.Fail, "master_yaml.port: cannot be changed", "--master-config-file"},
		{"a key of agent.yaml that does not exist", []string{"agent-config-file", "slot_typ: cpu\n"}, nil, nil, "configuration", doctor.Fail, "slot_typ: unknown key", "--agent-config-file"},
		{"a setting that an agent has from its master", []string{"agent-config-file", "master_port: 80\n"}, nil, nil, "configuration", doctor.Fail, "agents.config.master_port: has no effect", "--agent-config-file"},
		{"a clock that is wrong", nil, func(w *awstest.World) { w.Advance(10 * time.Minute) }, nil, "clock", doctor.Fail, "this machine's clock is -", "set the clock"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := inMemory(awstest.Options{})
			if tc.world != nil {
				tc.world(c.world)
			}
			s := newStage(c, tc.flags...)
			if tc.stage != nil {
				tc.stage(s)
			}
			r, ok := check(t, s)[tc.check]
			if !ok || r.Answer != tc.want || !strings.Contains(r.Found, tc.found) || !strings.Contains(r.Fix, tc.fix) {
				t.Errorf("got %s: found %q, needed %q, fix %q; want %s with %q and %q", r.Answer, r.Found, r.Needed, r.Fix, tc.want, tc.found, tc.fix)
			}
			if c.world.Changes() > 0 {
				t.Errorf("got %d changes by looking, want none", c.world.Changes())
			}
		})
	}
}

// A rule that is newer than the cluster must not block it: `up` warns and continues.
func TestNewRuleOnlyWarnsForExistingCluster(t *testing.T) {
	t.Parallel()
	for check, flags := range map[string][]string{
		"agents' internet access": {"agent-public-ip", "false"},
		"instance types":          {"master-instance-type", "t3.micro"},
		"GPU drivers":             {"instance-type", "p3.2xlarge"},
	} {
		t.Run(check, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStage(inMemory(awstest.Options{}))
				must(t, s.Up(t.Context()))
				s.Set(flags...)
				in, _, err := s.operator(t.Context())
				must(t, err)
				r := in.Check(t.Context())
				i := slices.IndexFunc(r.Results, func(r doctor.Result) bool { return r.Name == check })
				if i < 0 || r.Results[i].Answer != doctor.Unknown || r.Err() != nil {
					t.Errorf("got %+v and %v, want only a warning of %s", r.Results, r.Err(), check)
				}
			})
		})
	}
}

func TestSecurityGroupsAreCompared(t *testing.T) {
	t.Parallel()
	c := inMemory(awstest.Options{})
	s := newStage(c, existing(t, c)...)
	if r := check(t, s); r["network"].Answer != doctor.Pass || r["security groups"].Answer != doctor.Pass {
		t.Errorf("got %+v and %+v, want both to pass", r["network"], r["security groups"])
	}
	narrow := group(t, c.clients(nil).EC2, s.Settings["vpc"], "narrow", 443)
	_, err := c.clients(nil).EC2.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{
		GroupId: &narrow, IpPermissions: []types.IpPermission{{
			IpProtocol: sdk.String("tcp"), FromPort: sdk.Int32(8443), ToPort: sdk.Int32(8443), IpRanges: []types.IpRange{{CidrIp: sdk.String("198.51.100.0/24")}},
		}},
	})
	must(t, err)
	s.Set("master-security-group", narrow)
	if r := check(t, s)["security groups"]; r.Answer != doctor.Unknown || !strings.Contains(r.Found, "does not admit 203.0.113.0/24 on port 8443") {
		t.Errorf("got %+v, want that who is to reach the master is not let in", r)
	}
	closed := group(t, c.clients(nil).EC2, s.Settings["vpc"], "closed", 443)
	s.Set("master-security-group", closed)
	if r := check(t, s)["security groups"]; r.Answer != doctor.Fail || !strings.Contains(r.Found, "admits no address on port 8443") {
		t.Errorf("got %+v, want that the port is closed", r)
	}
}

// Existing resources that cannot be used fail like missing ones.
func TestExistingResourcesMustFit(t *testing.T) {
	t.Parallel()
	c := inMemory(awstest.Options{})
	e, i := c.clients(nil).EC2, c.clients(nil).IAM
	volume := func() string {
		v, err := e.CreateVolume(t.Context(), &ec2.CreateVolumeInput{AvailabilityZone: sdk.String("us-west-2a"), Size: sdk.Int32(100), VolumeType: types.VolumeTypeGp3, Encrypted: sdk.Bool(true)})
		must(t, err)
		return *v.VolumeId
	}
	free, taken := volume(), volume()
	subnets, err := e.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{Filters: []types.Filter{{Name: sdk.String("availability-zone"), Values: []string{"us-west-2a"}}}})
	must(t, err)
	m, err := e.RunInstances(t.Context(), &ec2.RunInstancesInput{
		ImageId: sdk.String(awstest.ImageAMD64), InstanceType: "m6i.large", MinCount: sdk.Int32(1), MaxCount: sdk.Int32(1), SubnetId: subnets.Subnets[0].SubnetId,
	})
	must(t, err)
	_, err = e.AttachVolume(t.Context(), &ec2.AttachVolumeInput{VolumeId: &taken, InstanceId: m.Instances[0].InstanceId, Device: sdk.String("/dev/sdf")})
	must(t, err)
	for name, who := range map[string]string{"machines": "ec2", "functions": "lambda"} {
		_, err := i.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: sdk.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"` + who + `.amazonaws.com"},"Action":"sts:AssumeRole"}]}`)})
		must(t, err)
	}
	snapshot := c.world.GiveSnapshot(200)
	for _, tc := range []struct {
		flag, value, check string
		want               doctor.Answer
		found, fix         string
	}{
		{"data-volume", free, "data volume " + free, doctor.Pass, "", ""},
		{"data-volume", taken, "data volume " + taken, doctor.Fail, "it is attached to " + *m.Instances[0].InstanceId, "detach it"},
		{"data-snapshot", snapshot, "snapshot " + snapshot, doctor.Fail, "it has 200 GB, but the data volume has only 100 GB", "--data-volume-size 200"},
		{"agent-role", "machines", "agent's role machines", doctor.Pass, "", ""},
		{"master-role", "functions", "master's role functions", doctor.Fail, "does not allow ec2.amazonaws.com", "trust policy"},
	} {
		r := check(t, newStage(c, tc.flag, tc.value))[tc.check]
		if r.Answer != tc.want || !strings.Contains(r.Found, tc.found) || !strings.Contains(r.Fix, tc.fix) {
			t.Errorf("%s %s: got %s: %q, fix %q; want %s with %q and %q", tc.flag, tc.value, r.Answer, r.Found, r.Fix, tc.want, tc.found, tc.fix)
		}
	}
}

func TestNewerRejectsOtherVersion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}))
		must(t, s.Up(t.Context()))
		s.Version = "v1.1.0"
		err := s.Up(t.Context())
		if err == nil || !strings.Contains(err.Error(), "runs v1.0.0, and this program is v1.1.0") {
			t.Errorf("got %v, want an error", err)
		}
		h, _ := err.(interface{ Hint() string })
		if h == nil || !strings.Contains(h.Hint(), "det-deploy upgrade --cluster-id lab") {
			t.Errorf("got %v, want a hint at upgrade", h)
		}
	})
}
