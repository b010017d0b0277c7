package container

import (
	"slices"
	"sort"

	"github.com/det-deploy/det-deploy/internal/document"
)

// Environment holds NAME=value variables by device type. A name without "=" keeps the value in the
// image.
type Environment struct {
	CPU  []string `yaml:"cpu"`
	CUDA []string `yaml:"cuda"`
	ROCm []string `yaml:"rocm"`
}

// UnmarshalDocument reads a list for all devices, a mapping of names to values, or a list or
// mapping for each of cpu, cuda and rocm.
func (e *Environment) UnmarshalDocument(v document.Value) {
	if v.IsList() {
		if list, ok := readVariables(v); ok {
			*e = Environment{CPU: list, CUDA: slices.Clone(list), ROCm: slices.Clone(list)}
		}
		return
	}
	if !v.IsMapping() {
		v.Complain("must be a list of NAME=value, or a mapping", "")
		return
	}
	if !v.HasOnly("cpu", "cuda", "gpu", "rocm") {
		if list, ok := readVariables(v); ok {
			*e = Environment{CPU: list, CUDA: slices.Clone(list), ROCm: slices.Clone(list)}
		}
		return
	}
	var o struct {
		CPU  variableList `yaml:"cpu"`
		CUDA variableList `yaml:"cuda"`
		GPU  variableList `yaml:"gpu"`
		ROCm variableList `yaml:"rocm"`
	}
	if v.Decode(&o) {
		*e = Environment{CPU: o.CPU, CUDA: append(o.GPU, o.CUDA...), ROCm: o.ROCm}
	}
}

// MarshalDocument returns a list for each device type, or one for all.
func (e Environment) MarshalDocument() any {
	if slices.Equal(e.CPU, e.CUDA) && slices.Equal(e.CPU, e.ROCm) {
		return e.CPU
	}
	return environmentOut(e)
}

type environmentOut Environment

// DocumentShape implements document.Shaper.
func (Environment) DocumentShape() string {
	return "list of NAME=value, mapping, or either for cpu, cuda, rocm"
}

type variableList []string

// UnmarshalDocument reads a list or a mapping.
func (l *variableList) UnmarshalDocument(v document.Value) {
	if list, ok := readVariables(v); ok {
		*l = list
	}
}

func readVariables(v document.Value) ([]string, bool) {
	if v.IsList() {
		var list []string
		ok := v.Decode(&list)
		return list, ok
	}
	var m map[string]anyText
	if !v.Decode(&m) {
		return nil, false
	}
	var list []string
	for name, value := range m {
		list = append(list, name+"="+string(value))
	}
	sort.Strings(list)
	return list, true
}

// anyText is text that may look like a number or boolean.
type anyText string

// UnmarshalDocument reads the value as it is written.
func (t *anyText) UnmarshalDocument(v document.Value) {
	if !v.IsText() {
		v.Complain("must be text", "")
		return
	}
	*t = anyText(v.Text())
}
