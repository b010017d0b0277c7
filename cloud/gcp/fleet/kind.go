package fleet

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/api/compute/v1"
)

// Kind is what a machine is: its type, and the GPUs that it is given beside it. The
// types of most families with GPUs bring theirs.
type Kind struct {
	// MachineType is Google's name: "n1-standard-8".
	MachineType string
	// GPUType is Google's name of the GPUs: "nvidia-tesla-t4"; GPUs is how many.
	GPUType string
	GPUs    int64
}

// kindForm is how a kind is written.
var kindForm = regexp.MustCompile(`^([a-z][-a-z0-9]*)(?:\+([1-9][0-9]?)x([a-z][-a-z0-9]*))?$`)

// String is the kind as the type of an offer: "n1-standard-8+4xnvidia-tesla-t4".
func (k Kind) String() string {
	if k.GPUs == 0 || k.BringsGPUs() {
		return k.MachineType
	}
	return fmt.Sprintf("%s+%dx%s", k.MachineType, k.GPUs, k.GPUType)
}

// ParseKind reads what String writes.
func ParseKind(text string) (Kind, error) {
	m := kindForm.FindStringSubmatch(text)
	if m == nil {
		return Kind{}, fmt.Errorf("%q is no machine type such as n1-standard-8 or n1-standard-8+4xnvidia-tesla-t4", text)
	}
	count, _ := strconv.ParseInt(m[2], 10, 64) // empty is 0
	k := Kind{MachineType: m[1], GPUType: m[3], GPUs: count}
	return k, k.Check()
}

// Check refuses GPUs for a machine that takes none.
func (k Kind) Check() error {
	if k.GPUs > 0 && !k.BringsGPUs() && k.family() != "n1" {
		return fmt.Errorf("machine type %s takes no GPUs: Google gives them to N1 machines only, and types of %s bring theirs",
			k.MachineType, strings.Join(gpuFamilies(), ", "))
	}
	return nil
}

// BringsGPUs reports whether machines of the type have GPUs without being given any.
func (k Kind) BringsGPUs() bool { return slices.Contains(gpuFamilies(), k.family()) }

func (k Kind) family() string {
	family, _, _ := strings.Cut(k.MachineType, "-")
	return family
}

// gpuFamilies are the families of machines whose types have GPUs.
func gpuFamilies() []string { return []string{"a2", "a3", "a4", "a4x", "g2", "g4"} }

// accelerators are the GPUs that a machine is given, with those of base_config where the
// pool names none.
func (f *Fleet) accelerators(k Kind, zone string) []*compute.AcceleratorConfig {
	given := f.base.GuestAccelerators
	switch {
	case k.BringsGPUs():
		return nil
	case k.GPUs > 0:
		given = []*compute.AcceleratorConfig{{AcceleratorType: k.GPUType, AcceleratorCount: k.GPUs}}
	}
	var out []*compute.AcceleratorConfig
	for _, a := range given {
		out = append(out, &compute.AcceleratorConfig{AcceleratorType: f.zonalLink(zone, "acceleratorTypes", a.AcceleratorType), AcceleratorCount: a.AcceleratorCount})
	}
	return out
}
