package master

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/det-deploy/det-deploy/cloud"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/provider"
)

func TestDescribeMachines(t *testing.T) {
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

// proving is a platform with several kinds of proofs.
type proving struct {
	kinds []string
	err   error
}

func (p proving) Attestor(Env, []config.Pool) ([]string, cloud.Attestor, error) {
	return p.kinds, p, p.err
}

func (proving) Machines(context.Context, Env, config.Pool) (Machines, error) { return Machines{}, nil }

func (proving) Attest(context.Context, string, cloud.Proof) (cloud.Attested, error) {
	return cloud.Attested{}, nil
}

func TestAttestorsOfThePoolsProviders(t *testing.T) {
	t.Parallel()
	m, _, err := config.Parse([]byte("resource_pools: [{pool_name: default, provider: {type: gcp}}, {pool_name: b, provider: {type: local}}]"), "master.yaml")
	if err != nil {
		t.Fatal(err)
	}
	providers := map[string]Provider{
		"gcp": proving{kinds: []string{"token", "guest"}}, "local": proving{kinds: []string{"local"}}, "aws": proving{kinds: []string{"sts"}},
	}
	got, err := newAttestors(Env{Config: m}, providers)
	if err != nil {
		t.Fatal(err)
	}
	if kinds := slices.Sorted(maps.Keys(got)); !slices.Equal(kinds, []string{"guest", "local", "token"}) {
		t.Errorf("got kinds %v: those of both providers that pools have, and no other", kinds)
	}
	providers["local"] = proving{err: errors.New("no proofs")}
	if _, err := newAttestors(Env{Config: m}, providers); err == nil || !strings.Contains(err.Error(), "no proofs") {
		t.Errorf("got %v", err)
	}
}
