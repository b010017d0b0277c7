// Package machinetype parses and formats machine types with attached GPUs.
package machinetype

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Type is a machine type and the GPUs attached to it. The machine types of most families with GPUs
// include them.
type Type struct {
	// MachineType is Google's name: "n1-standard-8".
	MachineType string
	// GPUType is Google's name of the GPU type: "nvidia-tesla-t4". GPUs is their number.
	GPUType string
	GPUs    int64
}

// form matches the text form of a type.
var form = regexp.MustCompile(`^([a-z][a-z0-9]*(?:-[a-z0-9]+)+)(?:\+([1-9][0-9]?)x([a-z][-a-z0-9]*))?$`)

// String returns the type in the form of an offer: "n1-standard-8+4xnvidia-tesla-t4".
func (t Type) String() string {
	if t.GPUs == 0 || t.BringsGPUs() {
		return t.MachineType
	}
	return fmt.Sprintf("%s+%dx%s", t.MachineType, t.GPUs, t.GPUType)
}

// Parse parses the output of String.
func Parse(text string) (Type, error) {
	m := form.FindStringSubmatch(text)
	if m == nil {
		return Type{}, fmt.Errorf("%q is not a machine type such as n1-standard-8 or n1-standard-8+4xnvidia-tesla-t4", text)
	}
	count, _ := strconv.ParseInt(m[2], 10, 64) // empty means 0
	t := Type{MachineType: m[1], GPUType: m[3], GPUs: count}
	return t, t.Check()
}

// Check returns an error if GPUs are attached to a machine type that does not support it.
func (t Type) Check() error {
	if t.GPUs > 0 && !t.BringsGPUs() && !t.TakesGPUs() {
		return fmt.Errorf("machine type %s does not support GPUs: they can be attached to N1 machine types only, and types of %s include them",
			t.MachineType, strings.Join(Families(), ", "))
	}
	return nil
}

// BringsGPUs reports whether the machine type includes GPUs.
func (t Type) BringsGPUs() bool { return slices.Contains(Families(), t.Family()) }

// Family returns the machine family: "n1" for "n1-standard-8".
func (t Type) Family() string {
	family, _, _ := strings.Cut(t.MachineType, "-")
	return family
}

// Families returns the machine families that include GPUs.
func Families() []string { return []string{"a2", "a3", "a4", "a4x", "g2", "g4"} }
