// Package machinetype is how a machine of Google's with its GPUs is written.
package machinetype

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Type is what a machine is: its machine type, and the GPUs that it is given beside it.
// The types of most families with GPUs bring theirs.
type Type struct {
	// MachineType is Google's name: "n1-standard-8".
	MachineType string
	// GPUType is Google's name of the GPUs: "nvidia-tesla-t4"; GPUs is how many.
	GPUType string
	GPUs    int64
}

// form is how a type is written.
var form = regexp.MustCompile(`^([a-z][a-z0-9]*(?:-[a-z0-9]+)+)(?:\+([1-9][0-9]?)x([a-z][-a-z0-9]*))?$`)

// String is the type as that of an offer: "n1-standard-8+4xnvidia-tesla-t4".
func (t Type) String() string {
	if t.GPUs == 0 || t.BringsGPUs() {
		return t.MachineType
	}
	return fmt.Sprintf("%s+%dx%s", t.MachineType, t.GPUs, t.GPUType)
}

// Parse reads what String writes.
func Parse(text string) (Type, error) {
	m := form.FindStringSubmatch(text)
	if m == nil {
		return Type{}, fmt.Errorf("%q is no machine type such as n1-standard-8 or n1-standard-8+4xnvidia-tesla-t4", text)
	}
	count, _ := strconv.ParseInt(m[2], 10, 64) // empty is 0
	t := Type{MachineType: m[1], GPUType: m[3], GPUs: count}
	return t, t.Check()
}

// Check refuses GPUs for a machine that takes none.
func (t Type) Check() error {
	if t.GPUs > 0 && !t.BringsGPUs() && !t.TakesGPUs() {
		return fmt.Errorf("machine type %s takes no GPUs: Google gives them to N1 machines only, and types of %s bring theirs",
			t.MachineType, strings.Join(Families(), ", "))
	}
	return nil
}

// BringsGPUs reports whether machines of the type have GPUs without being given any.
func (t Type) BringsGPUs() bool { return slices.Contains(Families(), t.Family()) }

// Family is "n1" of "n1-standard-8".
func (t Type) Family() string {
	family, _, _ := strings.Cut(t.MachineType, "-")
	return family
}

// Families are those of machines whose types have GPUs.
func Families() []string { return []string{"a2", "a3", "a4", "a4x", "g2", "g4"} }
