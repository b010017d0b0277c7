package hosted

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/provider"
)

func poolOn(name string, edit func(*provider.AWS)) config.Pool {
	p := config.DefaultPool(name)
	a := &provider.AWS{}
	a.SetDefaults()
	a.InstanceType = "g5.xlarge"
	edit(a)
	p.Provider = &provider.Provider{AWS: a}
	return p
}

func TestPoolsAreComparedByKey(t *testing.T) {
	t.Parallel()
	have := []config.Pool{
		poolOn("compute", func(a *provider.AWS) { a.StartupScript = document.NewSecret("echo one") }),
		poolOn("old", func(*provider.AWS) {}),
	}
	want := []config.Pool{
		poolOn("compute", func(a *provider.AWS) { a.MaxInstances, a.StartupScript = 8, document.NewSecret("echo two") }),
		poolOn("big", func(a *provider.AWS) {
			a.InstanceTypes, a.MinInstances = []string{"p5.48xlarge", "p4d.24xlarge"}, 1
			a.Spot = provider.Spot{Enabled: true, FallbackToOnDemand: true}
		}),
	}
	if d := cmp.Diff(comparePools(have, want), []resource.Drift{
		{Path: "pools.big", Have: "absent", Want: "1 to 5 × p5.48xlarge or p4d.24xlarge, spot or on demand, idle for up to 20m"},
		{Path: "pools.compute.max_instances", Have: "5", Want: "8"},
		{Path: "pools.old", Have: "0 to 5 × g5.xlarge, idle for up to 20m", Want: "absent"},
	}); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}
