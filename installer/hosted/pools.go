package hosted

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/provider"
)

// Describe returns one phrase per pool.
func (f *configuration) Describe() []string {
	if f.planned == nil {
		return nil
	}
	l, err := f.planned()
	if err != nil { // the checks report it
		return nil
	}
	var out []string
	for _, p := range l.Pools {
		zones := l.Zones[p.Name]
		if p.Provider != nil && p.Provider.GCP != nil {
			zones = p.Provider.GCP.ZoneList()
		}
		out = append(out, "pool "+p.Name+": "+describePool(p)+", in "+strings.Join(zones, ", "))
	}
	return out
}

// describePool returns the machines of a pool, their number and idle period.
func describePool(p config.Pool) string {
	if p.Provider == nil {
		return "machines that join by themselves"
	}
	e := p.Provider.Elastic()
	spot := spotOf(*p.Provider)
	return spec.Pool{
		MinAgents: e.MinInstances, MaxAgents: e.MaxInstances, IdlePeriod: e.MaxIdleAgentPeriod,
		Spot: spot.Enabled, FallbackToOnDemand: spot.FallbackToOnDemand,
	}.Describe(machineTypes(*p.Provider))
}

func machineTypes(p provider.Provider) []string {
	switch {
	case p.AWS != nil && len(p.AWS.InstanceTypes) > 0:
		return p.AWS.InstanceTypes
	case p.AWS != nil:
		return []string{p.AWS.InstanceType}
	case p.GCP != nil:
		var out []string
		for _, m := range p.GCP.Machines() {
			out = append(out, m.Type().String())
		}
		return out
	}
	return []string{p.Type()}
}

func spotOf(p provider.Provider) provider.Spot {
	switch {
	case p.AWS != nil:
		return p.AWS.Spot
	case p.GCP != nil:
		return provider.Spot{Enabled: p.GCP.IsSpot(), FallbackToOnDemand: p.GCP.Spot.FallbackToOnDemand}
	}
	return provider.Spot{}
}

// masterYAMLDrift returns the keys in which the stored master.yaml differs from the wanted one, those of pools
// last. It returns none if the stored one cannot be read, because its hash shows that it differs.
func (f *configuration) masterYAMLDrift(ctx context.Context, have manifest.Manifest, want []byte) []resource.Drift {
	stored := have.Files[manifest.ConfigFile]
	if stored.Key == "" || stored.SHA256 == storedFile(want).SHA256 {
		return nil
	}
	o, err := f.c.Objects.Get(ctx, stored.Key)
	if err != nil {
		return nil
	}
	before, _, err := config.Parse(o.Data, manifest.ConfigFile)
	if err != nil {
		return nil
	}
	after, _, err := config.Parse(want, manifest.ConfigFile)
	if err != nil {
		return nil
	}
	pools := comparePools(before.ResourcePools, after.ResourcePools)
	before.ResourcePools, after.ResourcePools = nil, nil
	var out []resource.Drift
	for _, d := range config.Compare(before, after) {
		out = append(out, resource.Drift{Path: d.Path, Have: d.Have, Want: d.Want})
	}
	return append(out, pools...)
}

// comparePools returns the differences between the pools of two configurations: a row for a new or
// removed pool, and one for each key of a pool that differs.
func comparePools(have, want []config.Pool) []resource.Drift {
	before, after := poolsByName(have), poolsByName(want)
	all := maps.Clone(before)
	maps.Copy(all, after)
	var out []resource.Drift
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a, had := before[name]
		b, has := after[name]
		switch path := "pools." + name; {
		case !had:
			out = append(out, resource.Drift{Path: path, Have: "absent", Want: describePool(b)})
		case !has:
			out = append(out, resource.Drift{Path: path, Have: describePool(a), Want: "absent"})
		default:
			out = append(out, compareSettings(path, poolSettings(a), poolSettings(b))...)
		}
	}
	return out
}

func poolsByName(pools []config.Pool) map[string]config.Pool {
	out := make(map[string]config.Pool, len(pools))
	for _, p := range pools {
		out[p.Name] = p
	}
	return out
}

func compareSettings(path string, have, want map[string]string) []resource.Drift {
	all := maps.Clone(have)
	maps.Copy(all, want)
	var out []resource.Drift
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if have[key] != want[key] {
			out = append(out, resource.Drift{Path: document.Join(path, key), Have: have[key], Want: want[key]})
		}
	}
	return out
}

// poolSettings returns the settings of a pool by key, without the documents in it, which may contain
// secrets.
func poolSettings(p config.Pool) map[string]string {
	out := make(map[string]string)
	for _, s := range document.Settings(p) {
		key := strings.TrimPrefix(s.Path, "provider.")
		if !strings.HasPrefix(key, "agent_config_file_contents") && !strings.HasPrefix(key, "base_config") {
			out[key] = s.Value
		}
	}
	return out
}
