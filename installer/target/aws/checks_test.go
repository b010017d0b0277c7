package aws_test

import (
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud/aws/awstest"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/target/aws"
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

func TestChecksSayWhatStandsInTheWay(t *testing.T) {
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
		{"an image for another architecture", []string{"agent-image", awstest.ImageGPUARM64}, nil, nil, "images", doctor.Fail, "is for arm64", "--agent-image"},
		{"an image that is not there", []string{"master-image", "ami-0123456789abcdef0"}, nil, nil, "images", doctor.Fail, "ami-0123456789abcdef0", ""},
		{"no program for the architecture", []string{"master-instance-type", "m6g.large"}, nil, func(s *stage) {
			s.programs = aws.Programs{"amd64": s.programs["amd64"]}
		}, "programs", doctor.Fail, "there is none for linux/arm64", "--binary arm64=PATH"},
		{"never used spot", []string{"spot", "true"}, nil, nil, "spot", doctor.Fail, "never used spot", "create-service-linked-role"},
		{"addresses of another network", []string{"network-cidr", "172.31.0.0/16"}, nil, nil, "network", doctor.Unknown, "172.31.0.0/16", "--network-cidr"},
		{"something may not be done", nil, func(w *awstest.World) { w.Deny("ec2:CreateVpc") }, nil, "permissions", doctor.Fail, "ec2:CreateVpc", "aws policy"},
		{"a dry run is allowed and a simulation not", nil, func(w *awstest.World) { w.Deny("iam:SimulatePrincipalPolicy") }, nil, "permissions", doctor.Unknown, "cannot be simulated", "go on"},
		{"something else may not be done", nil, func(w *awstest.World) { w.Deny("iam:CreateRole") }, nil, "permissions", doctor.Fail, "not allowed: iam:CreateRole", "aws policy"},
		{"a data bucket that is not there", []string{"data-bucket", "somebodys"}, nil, nil, "data bucket somebodys", doctor.Fail, "", "--data-bucket"},
		{"a role that is not there", []string{"log-group", "their/logs"}, nil, nil, "log group their/logs", doctor.Fail, "does not exist", "--log-group"},
		{"a secret that cannot be read here", []string{"db-url", "file:/nowhere/url"}, nil, nil, "secret db-url", doctor.Fail, "there is no such file", "aws-sm:NAME"},
		{"a secret of theirs that is not there", []string{"db-url", "aws-sm:theirs"}, nil, nil, "secret theirs", doctor.Fail, "", "Secrets Manager"},
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

func TestTheirNetworkIsCheckedAgainstThePorts(t *testing.T) {
	t.Parallel()
	c := inMemory(awstest.Options{})
	s := newStage(c, existing(t, c)...)
	if r := check(t, s); r["network"].Answer != doctor.Pass || r["security groups"].Answer != doctor.Pass {
		t.Errorf("got %+v and %+v, want both to pass", r["network"], r["security groups"])
	}
	closed := group(t, c.clients(nil).EC2, s.settings["vpc"], "closed", 443)
	s.set("master-security-group", closed)
	if r := check(t, s)["security groups"]; r.Answer != doctor.Fail || !strings.Contains(r.Found, "lets nobody in on port 8443") {
		t.Errorf("got %+v, want that the port is closed", r)
	}
}

func TestAnotherVersionIsAnUpgrade(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}))
		must(t, s.up(t.Context()))
		s.version = "v1.1.0"
		err := s.up(t.Context())
		if err == nil || !strings.Contains(err.Error(), "runs v1.0.0, and this program is v1.1.0") {
			t.Errorf("got %v, want a refusal", err)
		}
		h, _ := err.(interface{ Hint() string })
		if h == nil || !strings.Contains(h.Hint(), "det-deploy upgrade --cluster-id lab") {
			t.Errorf("got %v, want a hint at upgrade", h)
		}
	})
}
