package machinetype

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// TakesGPUs reports whether GPUs can be attached to the machine type: N1 types, including custom
// types without a family name.
func (t Type) TakesGPUs() bool { return t.Family() == "n1" || t.Family() == "custom" }

// countForm matches the suffix of machine types that contains their number of GPUs: a2-highgpu-4g.
var countForm = regexp.MustCompile(`-([1-9][0-9]?)g$`)

// BroughtGPUs returns the number of GPUs that the machine type includes. Found is false if neither
// its name nor unnamedCounts contains it.
func (t Type) BroughtGPUs() (count int64, found bool) {
	if !t.BringsGPUs() {
		return 0, true
	}
	if m := countForm.FindStringSubmatch(t.MachineType); m != nil {
		count, _ = strconv.ParseInt(m[1], 10, 64) // the pattern matches digits only
		return count, true
	}
	for _, row := range unnamedCounts() {
		if slices.Contains(strings.Fields(row.types), t.MachineType) {
			return row.gpus, true
		}
	}
	return 0, false
}

type countRow struct {
	gpus  int64
	types string
}

// unnamedCounts returns the machine types whose names do not contain their number of GPUs.
func unnamedCounts() []countRow {
	return []countRow{
		{1, "g2-standard-4 g2-standard-8 g2-standard-12 g2-standard-16 g2-standard-32 g4-standard-48"},
		{2, "g2-standard-24 g4-standard-96"},
		{4, "g2-standard-48 g4-standard-192"},
		{8, "g2-standard-96 g4-standard-384"},
	}
}

// BroughtType returns the GPU type that the machine type includes. Found is false if it is unknown.
func (t Type) BroughtType() (gpu string, found bool) {
	for prefix, gpu := range map[string]string{
		"a2-highgpu": "nvidia-tesla-a100", "a2-megagpu": "nvidia-tesla-a100", "a2-ultragpu": "nvidia-a100-80gb",
		"a3-highgpu": "nvidia-h100-80gb", "a3-megagpu": "nvidia-h100-mega-80gb", "a3-ultragpu": "nvidia-h200-141gb",
		"g2-standard": "nvidia-l4",
	} {
		if strings.HasPrefix(t.MachineType, prefix+"-") {
			return gpu, true
		}
	}
	return "", false
}
