package gcptest

import (
	"slices"

	"google.golang.org/api/compute/v1"
)

// zone is a zone with the GPU types that it offers.
type zone struct {
	name string
	gpus []string
}

// zones returns the zones of three regions with their GPUs. No zone offers nvidia-tesla-k80 any
// more. https://cloud.google.com/compute/docs/gpus/gpu-regions-zones
func zones() []zone { return knownZones }

var knownZones = []zone{
	{"europe-west4-a", []string{"nvidia-tesla-t4", "nvidia-tesla-v100", "nvidia-tesla-p100", "nvidia-tesla-a100", "nvidia-a100-80gb", "nvidia-l4"}},
	{"europe-west4-b", []string{"nvidia-tesla-t4", "nvidia-tesla-p4", "nvidia-tesla-v100", "nvidia-l4", "nvidia-h100-80gb"}},
	{"europe-west4-c", []string{"nvidia-tesla-t4", "nvidia-tesla-p4", "nvidia-tesla-v100", "nvidia-l4", "nvidia-h100-80gb"}},
	{"us-central1-a", []string{"nvidia-tesla-t4", "nvidia-tesla-p4", "nvidia-tesla-v100", "nvidia-tesla-a100", "nvidia-a100-80gb", "nvidia-l4", "nvidia-h100-80gb"}},
	{"us-central1-b", []string{"nvidia-tesla-t4", "nvidia-tesla-v100", "nvidia-tesla-a100", "nvidia-l4", "nvidia-h100-80gb"}},
	{"us-central1-c", []string{"nvidia-tesla-t4", "nvidia-tesla-p4", "nvidia-tesla-p100", "nvidia-tesla-v100", "nvidia-tesla-a100", "nvidia-a100-80gb", "nvidia-l4", "nvidia-h100-80gb"}},
	{"us-central1-f", []string{"nvidia-tesla-t4", "nvidia-tesla-p100", "nvidia-tesla-v100", "nvidia-tesla-a100"}},
	{"us-west1-a", []string{"nvidia-tesla-t4", "nvidia-tesla-p100", "nvidia-tesla-v100", "nvidia-l4", "nvidia-h100-80gb"}},
	{"us-west1-b", []string{"nvidia-tesla-t4", "nvidia-tesla-p100", "nvidia-tesla-v100", "nvidia-tesla-a100", "nvidia-l4", "nvidia-h100-80gb"}},
	{"us-west1-c", []string{"nvidia-l4"}},
}

func findZone(name string) (zone, bool) {
	all := zones()
	i := slices.IndexFunc(all, func(z zone) bool { return z.name == name })
	if i < 0 {
		return zone{}, false
	}
	return all[i], true
}

func regions() []string {
	var out []string
	for _, z := range zones() {
		out = append(out, regionOf(z.name))
	}
	return slices.Compact(out)
}

func regionExists(name string) bool { return slices.Contains(regions(), name) }

func zoneActs() map[string]act {
	return map[string]act{
		"compute.zones.get": getZone, "compute.zones.list": listZones,
		"compute.regions.get": getRegion, "compute.regions.list": listRegions,
		"compute.projects.get": getComputeProject,
	}
}

func describeZone(project string, z zone) *compute.Zone {
	path := "projects/" + project + "/zones/" + z.name
	return &compute.Zone{
		Kind: "compute#zone", Id: stableID(path), Name: z.name, Description: z.name, Status: "UP", SelfLink: linkTo(path),
		Region: linkTo("projects/" + project + "/regions/" + regionOf(z.name)), CreationTimestamp: firstDay,
	}
}

// firstDay is the creation time of built-in objects.
const firstDay = "1969-12-31T16:00:00.000-08:00"

func getZone(c *call) (any, error) {
	c.params["region"] = ""
	if _, err := c.scope(); err != nil {
		return nil, err
	}
	z, _ := findZone(c.params["zone"])
	return describeZone(c.projectID(), z), nil
}

func listZones(c *call) (any, error) {
	p, err := c.project(c.params["project"])
	if err != nil {
		return nil, err
	}
	var items []any
	for _, z := range zones() {
		items = append(items, describeZone(p.id, z))
	}
	return c.page("compute#zoneList", items)
}

func (w *World) describeRegion(p *project, name string) *compute.Region {
	path := "projects/" + p.id + "/regions/" + name
	r := &compute.Region{
		Kind: "compute#region", Id: stableID(path), Name: name, Description: name, Status: "UP", SelfLink: linkTo(path),
		CreationTimestamp: firstDay, Quotas: w.quotas(p.regional, "projects/"+p.id+"/", name),
	}
	for _, z := range zones() {
		if regionOf(z.name) == name {
			r.Zones = append(r.Zones, linkTo("projects/"+p.id+"/zones/"+z.name))
		}
	}
	return r
}

func getRegion(c *call) (any, error) {
	p, err := c.project(c.params["project"])
	if err != nil {
		return nil, err
	}
	if !regionExists(c.params["region"]) {
		return nil, notFound("projects/" + p.id + "/regions/" + c.params["region"])
	}
	return c.describeRegion(p, c.params["region"]), nil
}

func listRegions(c *call) (any, error) {
	p, err := c.project(c.params["project"])
	if err != nil {
		return nil, err
	}
	var items []any
	for _, name := range regions() {
		items = append(items, c.describeRegion(p, name))
	}
	return c.page("compute#regionList", items)
}

func getComputeProject(c *call) (any, error) {
	p, err := c.project(c.params["project"])
	if err != nil {
		return nil, err
	}
	return &compute.Project{
		Kind: "compute#project", Id: p.number, Name: p.id, SelfLink: linkTo("projects/" + p.id), CreationTimestamp: firstDay,
		DefaultServiceAccount: defaultAccount(p), Quotas: c.quotas(p.quotas, "projects/"+p.id+"/", ""), XpnProjectStatus: "UNSPECIFIED_XPN_PROJECT_STATUS",
		CommonInstanceMetadata: &compute.Metadata{Kind: "compute#metadata", Fingerprint: etagOf(1)},
	}, nil
}

// stableID returns the numeric ID of a built-in object.
func stableID(path string) uint64 {
	var n uint64 = 1469598103934665603
	for _, b := range []byte(path) {
		n = (n ^ uint64(b)) * 1099511628211
	}
	return n >> 1
}
