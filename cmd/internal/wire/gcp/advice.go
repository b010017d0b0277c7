package gcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"google.golang.org/api/cloudresourcemanager/v3"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	"github.com/det-deploy/det-deploy/cloud/gcp/machinetype"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer/target/gcp/control"
)

// Advice answers questions about Google Cloud for the form of a new cluster. It makes no call twice.
type Advice struct {
	facts facts.Facts
	// zones are the zones of the region.
	zones  []string
	types  *wire.Fetched[offeredType]  // by name
	quotas *wire.Fetched[facts.Quotas] // by region
}

// offeredType is a machine type, if the region has it.
type offeredType struct {
	facts.Type

	offered bool
}

func newAdvice(f facts.Facts, zones []string) Advice {
	return Advice{facts: f, zones: zones, types: new(wire.Fetched[offeredType]), quotas: new(wire.Fetched[facts.Quotas])}
}

func (a Advice) readQuotas(ctx context.Context) (facts.Quotas, error) {
	return a.quotas.Get(a.facts.Clients.Region, func() (facts.Quotas, error) { return a.facts.Quotas(ctx) })
}

// Advise returns an Advice for a region of the project.
func (a Account) Advise(ctx context.Context, region string) (Advice, error) {
	c, err := a.openClients(ctx, api.Options{Region: region})
	if err != nil {
		return Advice{}, err
	}
	f := facts.Facts{Clients: c}
	zones, err := f.Zones(ctx)
	return newAdvice(f, zones), err
}

// Projects lists the projects visible to the caller. It returns none if the caller may not list projects.
func (a Account) Projects(ctx context.Context) ([]term.Choice, error) {
	c, err := a.openClients(ctx, api.Options{AnyRegion: true, AnyProject: true})
	if err != nil {
		return nil, err
	}
	all, err := api.List(ctx, c.Resources.Projects.Search().Query("state:ACTIVE"), func(p *cloudresourcemanager.SearchProjectsResponse) []*cloudresourcemanager.Project {
		return p.Projects
	})
	if cloud.KindOf(err) == cloud.Denied {
		return nil, nil // the user can still type a project ID
	}
	var out []term.Choice
	for _, p := range all {
		out = append(out, term.Choice{Value: p.ProjectId, About: strings.TrimPrefix(p.DisplayName, p.ProjectId)})
	}
	slices.SortFunc(out, func(a, b term.Choice) int { return cmp.Compare(a.Value, b.Value) })
	return out, err
}

// KnownRegions returns the regions of Google Cloud whose place is known, each with the place after a tab.
func KnownRegions() []string { return facts.Known() }

// Regions lists the regions that the project may use: preferred, the environment's, first, then those with
// clusters, then those with machines, each sorted by name.
func (a Account) Regions(ctx context.Context) (all []term.Choice, preferred string, err error) {
	c, err := a.openClients(ctx, api.Options{AnyRegion: true})
	if err != nil {
		return nil, "", err
	}
	names, err := facts.Facts{Clients: c}.Regions(ctx)
	if err != nil {
		return nil, "", err
	}
	return wire.Regions{Names: names, Uses: useOf(ctx, c), Preferred: c.Region, Place: facts.PlaceOf}.Choices(), c.Region, nil
}

// useOf returns the clusters and machines of the project by region. Errors are ignored because they affect
// only the order of the list.
func useOf(ctx context.Context, c api.Clients) map[string]wire.RegionUse {
	out := make(map[string]wire.RegionUse)
	machines, err := c.ListInstances(ctx, "")
	if err != nil {
		machines = nil
	}
	for _, m := range machines {
		zone := path.Base(m.Zone)
		use := out[zone[:max(strings.LastIndexByte(zone, '-'), 0)]]
		use.Machines++
		out[zone[:max(strings.LastIndexByte(zone, '-'), 0)]] = use
	}
	who, err := facts.Facts{Clients: c}.Caller(ctx)
	if err != nil {
		return out
	}
	buckets, err := c.ListBuckets(ctx, bucketPrefix)
	if err != nil {
		return out
	}
	for _, b := range buckets {
		if id, ours := control.ClusterOf(b.Name, who.Number); ours {
			use := out[strings.ToLower(b.Location)]
			use.Clusters = append(use.Clusters, id)
			out[strings.ToLower(b.Location)] = use
		}
	}
	return out
}

// GPUMachines lists the region's GPU machine types, smallest first, with their zones and the number of
// machines that the project's remaining GPU quota allows.
func (a Advice) GPUMachines(ctx context.Context) ([]term.Choice, error) {
	all, err := a.facts.GPUMachines(ctx, a.zones)
	if err != nil {
		return nil, err
	}
	quotas, err := a.readQuotas(ctx)
	if err != nil {
		quotas = nil // the list then omits quotas
	}
	var out []term.Choice
	for _, t := range all {
		a.types.Put(t.Name, offeredType{t, true})
		_, about, _ := strings.Cut(t.String(), " ")
		out = append(out, term.Choice{Value: t.Name, About: strings.Trim(about, "()") + ", zones " + a.zoneLetters(t.Zones) + describeRoom(quotas, t)})
	}
	return out, nil
}

// zoneLetters returns the letters of the region's zones, such as "a b".
func (a Advice) zoneLetters(zones []string) string {
	letters := make([]string, len(zones))
	for i, z := range zones {
		letters[i] = strings.TrimPrefix(z, a.facts.Clients.Region+"-")
	}
	slices.Sort(letters)
	return strings.Join(letters, " ")
}

// Offered returns an error if no zone of the region offers a machine type.
func (a Advice) Offered(ctx context.Context, name string) error {
	_, err := a.findMachine(ctx, name)
	return err
}

func (a Advice) findMachine(ctx context.Context, name string) (facts.Type, error) {
	wanted, err := machinetype.Parse(name)
	if err != nil {
		return facts.Type{}, err
	}
	t, err := a.types.Get(wanted.String(), func() (offeredType, error) {
		types, err := a.facts.Types(ctx, a.zones, wanted)
		one, offered := types[wanted.String()]
		return offeredType{one, offered}, err
	})
	switch {
	case err != nil:
		return t.Type, err
	case !t.offered:
		return t.Type, fmt.Errorf("there is no machine type %s in %s", name, a.facts.Clients.Region)
	case len(t.Zones) == 0:
		return t.Type, errors.New("no zone of " + a.facts.Clients.Region + " offers its GPUs")
	}
	return t.Type, facts.CheckGPUs(wanted, t.VCPU)
}

// Room returns an error if the project's quotas do not allow n machines of a type. It returns nil if a
// quota is unknown.
func (a Advice) Room(ctx context.Context, name string, n int) error {
	t, err := a.findMachine(ctx, name)
	quotas, quotaErr := a.readQuotas(ctx)
	if err != nil || quotaErr != nil {
		return nil //nolint:nilerr // the checks report the error
	}
	use, _ := quotas.UsageOf(unitOf(t))
	for _, metric := range slices.Sorted(maps.Keys(use)) {
		if q, need := quotas[metric], use[metric]*n; need > q.Limit-q.Used {
			return fmt.Errorf("%d of %s use %d of the quota %s of %s, which leaves %d of %d; request an increase at %s",
				n, name, need, metric, q.Where, max(q.Limit-q.Used, 0), q.Limit, facts.QuotasPage(a.facts.Clients.Project))
		}
	}
	return nil
}

// unitOf returns the properties of a machine type that count toward quotas.
func unitOf(t facts.Type) facts.Unit {
	wanted, _ := machinetype.Parse(t.Name) // the name comes from Google
	return facts.Unit{MachineType: wanted.MachineType, VCPU: t.VCPU, GPU: t.GPU, GPUs: t.GPUs}
}

// describeRoom returns text such as ", quota for 3" for the number of machines that the quotas allow, or
// "" if no quota applies.
func describeRoom(quotas facts.Quotas, t facts.Type) string {
	use, _ := quotas.UsageOf(unitOf(t))
	most := -1
	for metric, one := range use {
		if n := max(quotas[metric].Limit-quotas[metric].Used, 0) / one; most < 0 || n < most {
			most = n
		}
	}
	if most < 0 {
		return ""
	}
	return fmt.Sprintf(", quota for %d", most)
}
