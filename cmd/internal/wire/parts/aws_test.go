package parts

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/attest"
	"github.com/det-deploy/det-deploy/cloud/aws/fleet"
	"github.com/det-deploy/det-deploy/master"
	"github.com/det-deploy/det-deploy/master/certificate"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/provider"
)

// elsewhere is a machine outside of AWS.
type elsewhere struct{}

var errElsewhere = errors.New("no metadata service")

func (elsewhere) GetRegion(context.Context, *imds.GetRegionInput, ...func(*imds.Options)) (*imds.GetRegionOutput, error) {
	return nil, errElsewhere
}

func (elsewhere) GetMetadata(context.Context, *imds.GetMetadataInput, ...func(*imds.Options)) (*imds.GetMetadataOutput, error) {
	return nil, errElsewhere
}

func awsEnv(t *testing.T, yaml string) (master.Env, provider.AWS) {
	t.Helper()
	m, _, err := config.Parse([]byte(yaml), "master.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if left := config.Unbuilt(m); len(left) > 0 {
		t.Fatal(left)
	}
	return master.Env{
		Config: m, ClusterID: "cluster-1", Log: slog.New(slog.DiscardHandler),
		Programs: func() map[string]string {
			return map[string]string{"linux-amd64": strings.Repeat("a", 64), "darwin-arm64": strings.Repeat("b", 64)}
		},
	}, *m.ResourcePools[0].Provider.AWS
}

// The provider block of an old cluster in the manual is sufficient for a fleet.
func TestProviderBlockOfOldClusterIsSufficient(t *testing.T) {
	t.Parallel()
	yaml, err := os.ReadFile("../../../../docs/examples/pedl-master.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, p := awsEnv(t, string(yaml))
	got, err := awsFleet(t.Context(), s, fleet.At(elsewhere{}), p)
	if err != nil {
		t.Fatal(err)
	}
	want := fleet.Config{
		Cluster: "cluster-1", Tag: fleet.Tag{Key: "det", Value: "lab"}, Name: "determined-ai-agent", MasterURL: "http://10.0.0.1:8080",
		Image: "ami-0f4677bfc3161edc8", RootGB: 200, Subnets: []string{"subnet-1"}, Group: "sg-1", PublicIP: true, Key: "key",
		ProfileARN: "arn:aws:iam::123456789012:instance-profile/determined-agent", Log: s.Log,
	}
	if diff := cmp.Diff(got, want, cmpopts.IgnoreFields(fleet.Config{}, "UserData", "Log")); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	for _, text := range []string{`http://10.0.0.1:8080`, strings.Repeat("a", 64)} {
		if !strings.Contains(string(got.UserData), text) {
			t.Errorf("got user data without %s:\n%s", text, got.UserData)
		}
	}
	if _, err := fleet.New(nil, withPool(got)); err != nil {
		t.Error(err)
	}
	if _, _, err := (awsProvider{}).Attestor(s, s.Config.ResourcePools); err != nil {
		t.Error(err)
	}
}

func withPool(c fleet.Config) fleet.Config {
	c.Pool = "default"
	return c
}

const onAWS = `security: {tls: auto}
resource_pools:
  - pool_name: default
    provider:
      type: aws
      region: eu-west-1
      master_url: MASTER
      image_id: ami-1
      iam_instance_profile_arn: arn:aws:iam::123456789012:instance-profile/agent
      instance_types: [g5.xlarge, g4dn.xlarge]
      subnets: [subnet-1, subnet-2]
      spot: {fallback_to_on_demand: true, max_price: "0.4"}
      custom_tags: [{key: team, value: vision}]
      tag_key: TAG
      tag_value: lab
`

func TestLocalMachinesPinMasterCertificate(t *testing.T) {
	t.Parallel()
	source, err := certificate.OpenAuthority(t.TempDir(), []string{"master", "10.0.0.1"}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for address, name := range map[string]string{"https://10.0.0.1:8443": "", "https://52.1.1.1:8443": "localhost"} {
		s, p := awsEnv(t, strings.NewReplacer("MASTER", address, "TAG", fleet.TagAgents).Replace(onAWS))
		s.Certificate = source
		got, err := awsFleet(t.Context(), s, fleet.At(elsewhere{}), p)
		if err != nil {
			t.Fatal(err)
		}
		if got.Cluster != "lab" || got.MaxPrice != "0.4" || !got.Spot || len(got.Tags) != 1 {
			t.Errorf("got %+v", got)
		}
		ca, gotName, err := trustOf(source, strings.TrimSuffix(strings.TrimPrefix(address, "https://"), ":8443"))
		if err != nil || gotName != name || !strings.Contains(ca, "BEGIN CERTIFICATE") {
			t.Errorf("%s: got %q, %q, %v", address, ca, gotName, err)
		}
		if first, _, _ := strings.Cut(strings.TrimPrefix(ca, "-----BEGIN CERTIFICATE-----\n"), "\n"); !strings.Contains(string(got.UserData), first) {
			t.Errorf("got user data without the authority:\n%s", got.UserData)
		}
	}
}

// Machines reach their master without the proxy.
func TestMachinesGetProxies(t *testing.T) {
	t.Parallel()
	s, p := awsEnv(t, strings.NewReplacer("MASTER", "http://master.example.com:8080", "TAG", "k", "security: {tls: auto}\n", "").Replace(onAWS))
	p.Proxy = provider.Proxy{HTTPS: "http://proxy:3128", No: ".corp"}
	got, err := awsFleet(t.Context(), s, fleet.At(elsewhere{}), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"HTTPS_PROXY=http://proxy:3128", ",master.example.com,.corp", "--proxy-file"} {
		if !strings.Contains(string(got.UserData), want) {
			t.Errorf("got user data without %s:\n%s", want, got.UserData)
		}
	}
}

func TestMissingSettingsOfAWSMachine(t *testing.T) {
	t.Parallel()
	s, p := awsEnv(t, strings.NewReplacer("MASTER", "http://local-ipv4:8080", "TAG", "k", "security: {tls: auto}\n", "").Replace(onAWS))
	_, err := awsFleet(t.Context(), s, fleet.At(elsewhere{}), p)
	if cloud.KindOf(err) != cloud.Invalid || !errors.Is(err, errElsewhere) {
		t.Errorf("got %v", err)
	}
	p.IAMInstanceProfileARN = "agent"
	if _, err := newAWSAttestor(s, []provider.AWS{p}); cloud.KindOf(err) != cloud.Invalid {
		t.Errorf("got %v", err)
	}
	kinds, a, err := awsProvider{}.Attestor(s, s.Config.ResourcePools)
	if !slices.Equal(kinds, []string{attest.Kind}) || a == nil || err != nil {
		t.Errorf("got %s %v, %v", kinds, a, err)
	}
}
