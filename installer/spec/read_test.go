package spec_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/internal/document"
)

func flags(pairs ...string) []document.Given {
	paths := map[string]string{}
	for _, f := range spec.AWSFlags() {
		paths[f.Flag] = f.Path
	}
	var out []document.Given
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, document.Given{Path: paths[pairs[i]], Value: pairs[i+1], Source: "--" + pairs[i]})
	}
	return out
}

func merge(t *testing.T, recorded map[string]string, file string, pairs ...string) map[string]string {
	t.Helper()
	g := spec.Given{FileName: "lab.yaml", Flags: flags(pairs...)}
	if file != "" {
		g.File = []byte(file)
	}
	out, err := spec.AWSFlags().Merge(new(spec.AWS), g, recorded)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func read(t *testing.T, settings map[string]string) spec.AWS {
	t.Helper()
	var a spec.AWS
	if err := spec.AWSFlags().Read(&a, "lab", settings); err != nil {
		t.Fatal(err)
	}
	return a
}

var needed = []string{"region", "us-west-2", "inbound-cidr", "203.0.113.7/32"}

func TestDefaults(t *testing.T) {
	t.Parallel()
	a := read(t, merge(t, nil, "", needed...))
	if a.Cluster != "lab" || a.DefaultPool != "compute-pool" || len(a.Pools) != 1 {
		t.Errorf("got %q with pools %v and default %q, want lab with the compute pool", a.Cluster, a.Pools, a.DefaultPool)
	}
	if diff := cmp.Diff(a.Pools["compute-pool"], spec.DefaultAWSPool()); diff != "" {
		t.Errorf("the pool (-got +want):\n%s", diff)
	}
}

func TestMergeKeepsRecordedFlags(t *testing.T) {
	t.Parallel()
	first := merge(t, nil, "", append(needed, "max-agents", "9", "spot", "true", "tag", "team=ml,cost=42", "instance-type", "g5.xlarge,g5.2xlarge", "slots", "1")...)
	second := merge(t, first, "", "idle-period", "5m", "spot", "false", "slots", "")
	got := read(t, second)
	pool := got.Pools["compute-pool"]
	if pool.MaxAgents != 9 || pool.Spot || pool.Slots != nil || time.Duration(pool.IdlePeriod) != 5*time.Minute {
		t.Errorf("got %+v, want the first run's maximum, the second's period, no spot and no slots", pool)
	}
	if diff := cmp.Diff(pool.InstanceTypes, []string{"g5.xlarge", "g5.2xlarge"}); diff != "" {
		t.Errorf("types (-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(got.Tags, spec.Tags{"team": "ml", "cost": "42"}); diff != "" {
		t.Errorf("tags (-got +want):\n%s", diff)
	}
}

func TestMergeReplacesTheFile(t *testing.T) {
	t.Parallel()
	const before = "region: us-west-2\nnetwork: {inbound_cidrs: [203.0.113.7/32]}\nmaster: {instance_type: m6i.xlarge}\n"
	first := merge(t, nil, before, "max-agents", "9", "agent-image", "ami-0123456789abcdef0")
	const after = "region: us-west-2\nnetwork: {inbound_cidrs: [203.0.113.7/32]}\npools: {big: {instance_types: [p4d.24xlarge], max_agents: 2}}\n"
	a := read(t, merge(t, first, after))
	if a.Master.InstanceType != "m6i.large" {
		t.Errorf("got master %s, want the default: the new file does not mention it", a.Master.InstanceType)
	}
	if got := a.Pools["big"].MaxAgents; got != 2 || len(a.Pools) != 1 {
		t.Errorf("got %d agents in %v, want the file's 2 and no other pool", got, a.PoolNames())
	}
	if a.Agents.Image != "ami-0123456789abcdef0" {
		t.Error("a flag that the new file does not mention was forgotten")
	}
	b := read(t, merge(t, merge(t, first, after), "", "max-agents", "3"))
	if got := b.Pools["big"].MaxAgents; got != 3 {
		t.Errorf("got %d agents, want the flag's 3 in the file's only pool", got)
	}
}

func TestDocumentsGivenByFlag(t *testing.T) {
	t.Parallel()
	read1 := func(string, string) ([]byte, error) { return []byte("webhooks: {base_url: https://x}\n"), nil }
	given, err := spec.AWSFlags().ReadFiles(flags("master-config-file", "over.yaml"), read1)
	if err != nil {
		t.Fatal(err)
	}
	settings, err := spec.AWSFlags().Merge(new(spec.AWS), spec.Given{Flags: append(flags(needed...), given...)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(read(t, settings).MasterYAML.JSON()); got != `{"webhooks":{"base_url":"https://x"}}` {
		t.Errorf("got %s", got)
	}
}

func TestMergeRecordsSecretVariablesByName(t *testing.T) {
	t.Parallel()
	given := []document.Given{{Path: "database.url", Value: "postgres://u:hunter2@h/d", Source: "DET_AWS_DB_URL"}}
	got, err := spec.AWSFlags().Merge(new(spec.AWS), spec.Given{Flags: given}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, map[string]string{"db-url": "env:DET_AWS_DB_URL"}); diff != "" {
		t.Errorf("settings (-got +want):\n%s", diff)
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, file string
		flags      []string
		want       []string
	}{
		{"nothing at all", "", nil, []string{"region: is required", "network.inbound_cidrs: is required"}},
		{"a key that does not exist", "regoin: x\n", nil, []string{"cluster.yaml:1: regoin: unknown key (did you mean region?)"}},
		{"a flag about one of several pools", "pools: {a: {}, b: {}}\n", append(needed, "max-agents", "3"), []string{"--max-agents: applies to a single pool, but the file has several (a, b)"}},
		{"a partition of its own", "", []string{"region", "us-gov-west-1", "inbound-cidr", "203.0.113.7/32"}, []string{"--region: region: is in a partition that is not built yet"}},
		{"a range with bits beyond its length", "", []string{"region", "us-west-2", "inbound-cidr", "203.0.113.7/24"}, []string{"write 203.0.113.0/24"}},
		{"more wanted than allowed", "", append(needed, "min-agents", "6"), []string{"max_agents: must be at least min_agents (5 < 6)"}},
		{"a price without spot", "", append(needed, "spot-max-price", "1.5"), []string{"--spot-max-price: pools.compute-pool.max_price: has no effect without spot"}},
		{"subnets of no VPC", "", append(needed, "subnet", "subnet-0123456789abcdef0"), []string{"network.subnets[0]", "belong to an existing VPC"}[1:]},
		{"a VPC without subnets", "", append(needed, "vpc", "vpc-0123456789abcdef0"), []string{"network.subnets: are required with an existing VPC"}},
		{"two origins of the volume", "", append(needed, "data-volume", "vol-0123456789abcdef0", "data-snapshot", "snap-0123456789abcdef0"), []string{"keep one of id and snapshot"}},
		{"a secret itself", "database: {url: 'postgres://u:hunter2@h/d'}\n", needed, []string{"database.url: must be a reference and not the secret itself"}},
		{"a certificate without its key", "tls: {certificate: x}\n", needed, []string{"tls.key: is required", "tls.name: is required", "tls.certificate: must be one or more certificates"}},
		{"a tag of the cluster's own", "", append(needed, "tag", "Name=x"), []string{"tags.Name: is a reserved tag that the cluster sets itself"}},
		{"tags that differ only in case", "", append(needed, "tag", "team=a,Team=b"), []string{"tags.team: differs from Team only in case"}},
		{"a tag with what tags may not have", "", append(needed, "tag", "team=a&b"), []string{"tags.team: must be letters, digits, spaces and"}},
		{"the cluster's own tag in small letters", "", append(needed, "tag", "name=x"), []string{"tags.name: is a reserved tag that the cluster sets itself"}},
		{"addresses that the master has none of", "", []string{"region", "us-west-2", "inbound-cidr", "2001:db8::/64"}, []string{"network.inbound_cidrs[0]: must be an IPv4 range"}},
		{"a subnet for the master without a VPC", "", append(needed, "master-subnet", "subnet-0123456789abcdef0"), []string{"master.subnet: belongs to an existing VPC"}},
		{"a zone for the master in a VPC", "", append(needed, "vpc", "vpc-0123456789abcdef0", "subnet", "subnet-0123456789abcdef0", "master-zone", "us-west-2a"), []string{"master.zone: applies only to the cluster's own VPC"}},
		{"addresses for an existing VPC", "", append(needed, "vpc", "vpc-0123456789abcdef0", "subnet", "subnet-0123456789abcdef0", "network-cidr", "10.1.0.0/16"), []string{"network.cidr: applies only to the cluster's own VPC"}},
		{"SSH with existing groups", "", append(needed, "vpc", "vpc-0123456789abcdef0", "subnet", "subnet-0123456789abcdef0", "master-security-group", "sg-0123456789abcdef0", "agent-security-group", "sg-0123456789abcdef1", "ssh", "true", "key-pair", "k"), []string{"network.ssh: has no effect on existing security groups"}},
		{"a size for an existing volume", "", append(needed, "data-volume", "vol-0123456789abcdef0", "data-volume-size", "200"), []string{"master.volume.size: has no effect on an existing volume"}},
		{"a retention for an existing log group", "", append(needed, "log-group", "theirs", "log-retention-days", "90"), []string{"logs.retention_days: has no effect on an existing group"}},
		{"a retention that CloudWatch does not know", "", append(needed, "log-retention-days", "31"), []string{"logs.retention_days: must be a number of days that CloudWatch supports"}},
		{"another cluster's file", "cluster_id: other\n", needed, []string{`cluster_id: is "other", but --cluster-id is "lab"`}},
		{"a role beside an instance profile", "", append(needed, "agent-role", "a", "agent-instance-profile", "b"), []string{"roles.agent_profile: excludes an existing role"}},
		{"a role in place of an instance profile", "", append(needed, "master-instance-profile", "arn:aws:iam::123456789012:role/a"), []string{"roles.master_profile: must be the name or ARN of an instance profile"}},
		{"half a registry account", "", append(needed, "registry-user", "u"), []string{"tasks.registry.password: is required with a user"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			settings := map[string]string{spec.FileSetting: tc.file}
			for i := 0; i < len(tc.flags); i += 2 {
				settings[tc.flags[i]] = tc.flags[i+1]
			}
			err := spec.AWSFlags().Read(new(spec.AWS), "lab", settings)
			for _, want := range tc.want {
				if !strings.Contains(fmt.Sprint(err), want) {
					t.Errorf("got:\n%v\nwant %q in it", err, want)
				}
			}
			if tc.file == "" && strings.Contains(fmt.Sprint(err), spec.FileSetting+":") {
				t.Errorf("got:\n%v\nwant no position in a file that was not given", err)
			}
			if strings.Contains(fmt.Sprint(err), "hunter2") {
				t.Error("the complaint shows the secret")
			}
		})
	}
}

// A key without a value counts as absent, however it is written.
func TestEmptyClusterIDInFile(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"cluster_id:\n", "cluster_id: null\n", "cluster_id: ~\n", "cluster_id: ''\n", "cluster_id: lab\n"} {
		read(t, merge(t, nil, file, needed...))
	}
}

func TestClusterNames(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{"lab": true, "a": true, "Lab": false, "lab-": false, "1ab": false, "lab-data": false} {
		settings := merge(t, nil, "", needed...)
		err := spec.AWSFlags().Read(new(spec.AWS), id, settings)
		if got := err == nil; got != want {
			t.Errorf("%q: got %v, want allowed %v", id, err, want)
		}
	}
}

func TestTheExampleIsValid(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/examples/cluster-aws.yaml")
	if err != nil {
		t.Fatal(err)
	}
	id, err := spec.ClusterOf(data, "cluster-aws.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := spec.AWSFlags().Read(new(spec.AWS), id, map[string]string{spec.FileSetting: string(data)}); err != nil {
		t.Error(err)
	}
}

func TestMergeReportsAllErrorsOfAFile(t *testing.T) {
	t.Parallel()
	file := []byte("regin: us-west-2\nagents: {public_ip: perhaps}\nnetwork: {cidr: 10.0.0.0/33}\n")
	_, err := spec.AWSFlags().Merge(new(spec.AWS), spec.Given{FileName: "lab.yaml", File: file}, nil)
	if err == nil {
		t.Fatal("no complaint")
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 3 ||
		!strings.HasPrefix(lines[0], "lab.yaml:1: regin: ") || !strings.HasPrefix(lines[1], "lab.yaml:2: agents.public_ip: ") || !strings.HasPrefix(lines[2], "lab.yaml:3: network.cidr: ") {
		t.Errorf("got\n%v", err)
	}
}
