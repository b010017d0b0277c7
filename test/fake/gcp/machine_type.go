package gcptest

import (
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"
)

// machineType is a machine type: vCPUs, memory in GB, and included GPUs.
type machineType struct {
	name   string
	cpus   int64
	memory int64
	gpu    string
	gpus   int64
}

func (t machineType) family() string {
	family, _, _ := strings.Cut(t.name, "-")
	return family
}

// machineTypes returns the machine types that det-deploy and Determined's examples use, of every
// family. https://cloud.google.com/compute/docs/machine-resource
// https://cloud.google.com/compute/docs/accelerator-optimized-machines
func machineTypes() []machineType { return knownTypes }

var knownTypes = buildTypes()

func buildTypes() []machineType {
	var out []machineType
	sizes := []struct {
		family string
		cpus   []int64
	}{
		{"n1", []int64{1, 2, 4, 8, 16, 32, 64, 96}},
		{"n2", []int64{2, 4, 8, 16, 32, 48, 64, 80}},
		{"n2d", []int64{2, 4, 8, 16, 32}},
		{"e2", []int64{2, 4, 8, 16, 32}},
		{"c2", []int64{4, 8, 16, 30, 60}},
		{"c3", []int64{4, 8, 22, 44, 88}},
	}
	for _, s := range sizes {
		for _, n := range s.cpus {
			out = append(out, machineType{name: s.family + "-standard-" + decimal(int(n)), cpus: n, memory: n * 4})
		}
	}
	out = append(out, machineType{name: "e2-medium", cpus: 2, memory: 4}, machineType{name: "n1-highmem-8", cpus: 8, memory: 52})
	out = append(out, machineType{name: "t2a-standard-4", cpus: 4, memory: 16})
	out = append(out, acceleratedTypes()...)
	slices.SortFunc(out, func(a, b machineType) int { return strings.Compare(a.name, b.name) })
	return out
}

func acceleratedTypes() []machineType {
	return []machineType{
		{"a2-highgpu-1g", 12, 85, "nvidia-tesla-a100", 1},
		{"a2-highgpu-2g", 24, 170, "nvidia-tesla-a100", 2},
		{"a2-highgpu-4g", 48, 340, "nvidia-tesla-a100", 4},
		{"a2-highgpu-8g", 96, 680, "nvidia-tesla-a100", 8},
		{"a2-megagpu-16g", 96, 1360, "nvidia-tesla-a100", 16},
		{"a2-ultragpu-1g", 12, 170, "nvidia-a100-80gb", 1},
		{"a2-ultragpu-2g", 24, 340, "nvidia-a100-80gb", 2},
		{"a2-ultragpu-4g", 48, 680, "nvidia-a100-80gb", 4},
		{"a2-ultragpu-8g", 96, 1360, "nvidia-a100-80gb", 8},
		{"a3-highgpu-8g", 208, 1872, "nvidia-h100-80gb", 8},
		{"g2-standard-4", 4, 16, "nvidia-l4", 1},
		{"g2-standard-8", 8, 32, "nvidia-l4", 1},
		{"g2-standard-24", 24, 96, "nvidia-l4", 2},
		{"g2-standard-48", 48, 192, "nvidia-l4", 4},
		{"g2-standard-96", 96, 384, "nvidia-l4", 8},
	}
}

// findType returns a machine type that a zone offers.
func findType(zoneName, name string) (machineType, bool) {
	all := machineTypes()
	i := slices.IndexFunc(all, func(t machineType) bool { return t.name == name })
	z, found := findZone(zoneName)
	if i < 0 || !found || all[i].gpu != "" && !slices.Contains(z.gpus, all[i].gpu) {
		return machineType{}, false
	}
	return all[i], true
}

// gpuType is a GPU type with its quota and the valid numbers per instance. If counts is empty,
// machine types include the GPUs. https://cloud.google.com/compute/docs/gpus#n1-gpus
type gpuType struct {
	name, metric string
	most         int64
	counts       []int64
}

func gpuTypes() []gpuType { return knownGPUs }

var knownGPUs = []gpuType{
	{"nvidia-a100-80gb", "NVIDIA_A100_80GB_GPUS", 8, nil},
	{"nvidia-h100-80gb", "NVIDIA_H100_GPUS", 8, nil},
	{"nvidia-l4", "NVIDIA_L4_GPUS", 8, nil},
	{"nvidia-tesla-a100", "NVIDIA_A100_GPUS", 16, nil},
	{"nvidia-tesla-p100", "NVIDIA_P100_GPUS", 4, []int64{1, 2, 4}},
	{"nvidia-tesla-p4", "NVIDIA_P4_GPUS", 4, []int64{1, 2, 4}},
	{"nvidia-tesla-t4", "NVIDIA_T4_GPUS", 4, []int64{1, 2, 4}},
	{"nvidia-tesla-v100", "NVIDIA_V100_GPUS", 8, []int64{1, 2, 4, 8}},
}

func findGPU(name string) (gpuType, bool) {
	all := gpuTypes()
	i := slices.IndexFunc(all, func(g gpuType) bool { return g.name == name })
	if i < 0 {
		return gpuType{}, false
	}
	return all[i], true
}

// gpuMetrics returns the quota metrics that Google publishes for on-demand GPUs.
func gpuMetrics() []string {
	var out []string
	for _, g := range gpuTypes() {
		if g.name != "nvidia-h100-80gb" {
			out = append(out, g.metric)
		}
	}
	return out
}

func machineTypeActs() map[string]act {
	return map[string]act{
		"compute.machineTypes.get": getMachineType, "compute.machineTypes.list": listMachineTypes,
		"compute.machineTypes.aggregatedList": aggregateMachineTypes,
		"compute.acceleratorTypes.get":        getAcceleratorType, "compute.acceleratorTypes.list": listAcceleratorTypes,
		"compute.acceleratorTypes.aggregatedList": aggregateAcceleratorTypes,
	}
}

func describeType(project, zoneName string, t machineType) *compute.MachineType {
	path := "projects/" + project + "/zones/" + zoneName + "/machineTypes/" + t.name
	out := &compute.MachineType{
		Kind: "compute#machineType", Id: stableID(path), Name: t.name, GuestCpus: t.cpus, MemoryMb: t.memory * 1024, Zone: zoneName,
		SelfLink: linkTo(path), MaximumPersistentDisks: 128, MaximumPersistentDisksSizeGb: 263168, CreationTimestamp: firstDay, Architecture: "X86_64",
	}
	if strings.HasPrefix(t.name, "n1-standard-") { // the only family with 3.75 GB per vCPU
		out.MemoryMb = t.cpus * 3840
	}
	if t.family() == "t2a" {
		out.Architecture = "ARM64"
	}
	if t.gpu != "" {
		out.Accelerators = []*compute.MachineTypeAccelerators{{GuestAcceleratorType: t.gpu, GuestAcceleratorCount: t.gpus}}
	}
	return out
}

func typesIn(project, zoneName string) []any {
	var out []any
	for _, t := range machineTypes() {
		if _, found := findType(zoneName, t.name); found {
			out = append(out, describeType(project, zoneName, t))
		}
	}
	return out
}

func getMachineType(c *call) (any, error) {
	scope, err := c.scope()
	if err != nil {
		return nil, err
	}
	t, found := findType(c.params["zone"], c.params["machineType"])
	if !found {
		return nil, notFound(scope + "machineTypes/" + c.params["machineType"])
	}
	return describeType(c.projectID(), c.params["zone"], t), nil
}

func listMachineTypes(c *call) (any, error) {
	if _, err := c.scope(); err != nil {
		return nil, err
	}
	return c.page("compute#machineTypeList", typesIn(c.projectID(), c.params["zone"]))
}

func aggregateMachineTypes(c *call) (any, error) {
	return c.aggregateFacts("machineTypes", "compute#machineTypeAggregatedList", typesIn)
}

// aggregateFacts lists the offers of all zones.
func (c *call) aggregateFacts(name, kind string, in func(project, zone string) []any) (any, error) {
	p, err := c.project(c.params["project"])
	if err != nil {
		return nil, err
	}
	var items []any
	places := make(map[any]string)
	for _, z := range zones() {
		if c.engine.unreachable[z.name] {
			continue
		}
		for _, v := range in(p.id, z.name) {
			items = append(items, v)
			places[v] = "zones/" + z.name
		}
	}
	items, err = c.filter(items)
	if err != nil {
		return nil, err
	}
	for i, v := range items {
		items[i] = placed{places[v], v}
	}
	return c.aggregatedPage(p, name, kind, items)
}

func acceleratorsIn(project, zoneName string) []any {
	z, _ := findZone(zoneName)
	var out []any
	for _, g := range gpuTypes() {
		if !slices.Contains(z.gpus, g.name) {
			continue
		}
		path := "projects/" + project + "/zones/" + zoneName + "/acceleratorTypes/" + g.name
		out = append(out, &compute.AcceleratorType{
			Kind: "compute#acceleratorType", Id: stableID(path), Name: g.name, Description: strings.ToUpper(g.name), SelfLink: linkTo(path),
			MaximumCardsPerInstance: g.most, Zone: linkTo("projects/" + project + "/zones/" + zoneName), CreationTimestamp: firstDay,
		})
	}
	return out
}

func getAcceleratorType(c *call) (any, error) {
	scope, err := c.scope()
	if err != nil {
		return nil, err
	}
	for _, v := range acceleratorsIn(c.projectID(), c.params["zone"]) {
		if read[string](v, "Name") == c.params["acceleratorType"] {
			return v, nil
		}
	}
	return nil, notFound(scope + "acceleratorTypes/" + c.params["acceleratorType"])
}

func listAcceleratorTypes(c *call) (any, error) {
	if _, err := c.scope(); err != nil {
		return nil, err
	}
	return c.page("compute#acceleratorTypeList", acceleratorsIn(c.projectID(), c.params["zone"]))
}

func aggregateAcceleratorTypes(c *call) (any, error) {
	return c.aggregateFacts("acceleratorTypes", "compute#acceleratorTypeAggregatedList", acceleratorsIn)
}
