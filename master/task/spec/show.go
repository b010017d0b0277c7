package spec

import (
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/internal/document"
)

// Show returns the whole configuration in the form of Determined 0.38.1, with secrets masked: images and
// variables by device, empty values as null. Priority is the effective one, 0 if unknown.
func Show(c Config, priority int) (*structpb.Struct, error) {
	tree := document.Show(c)
	nullEmpty(tree)
	tree["entrypoint"] = append([]string{}, c.Entrypoint...)
	tree["pbs"], tree["slurm"] = shownRaw(c.PBS), shownRaw(c.Slurm)
	if environment, ok := tree["environment"].(map[string]any); ok {
		environment["image"] = byDevice(c.Environment.Image.CPU, c.Environment.Image.CUDA, c.Environment.Image.ROCm,
			func(s string) bool { return s != "" })
		environment["environment_variables"] = byDevice(c.Environment.Variables.CPU, c.Environment.Variables.CUDA, c.Environment.Variables.ROCm,
			func(l []string) bool { return len(l) > 0 })
		environment["pod_spec"] = c.Environment.PodSpec.MarshalDocument()
	}
	if resources, ok := tree["resources"].(map[string]any); ok && priority != 0 {
		resources["priority"] = priority
	}
	out, err := shownMapping(tree)
	if err != nil {
		return nil, fmt.Errorf("show the configuration: %w", err)
	}
	return out, nil
}

func shownMapping(tree map[string]any) (*structpb.Struct, error) {
	out := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(tree))}
	for key, value := range tree {
		v, err := shownValue(value)
		if err != nil {
			return nil, err
		}
		out.Fields[strings.ToValidUTF8(key, "\ufffd")] = v
	}
	return out, nil
}

// shownValue returns the protobuf form of a value. Common types are converted without the detour over
// JSON.
func shownValue(value any) (*structpb.Value, error) {
	switch v := value.(type) {
	case map[string]any:
		m, err := shownMapping(v)
		return structpb.NewStructValue(m), err
	case []any:
		list := &structpb.ListValue{Values: make([]*structpb.Value, 0, len(v))}
		for _, one := range v {
			shown, err := shownValue(one)
			if err != nil {
				return nil, err
			}
			list.Values = append(list.Values, shown)
		}
		return structpb.NewListValue(list), nil
	case nil:
		return structpb.NewNullValue(), nil
	case bool:
		return structpb.NewBoolValue(v), nil
	case int:
		return structpb.NewNumberValue(float64(v)), nil
	case string:
		return structpb.NewStringValue(strings.ToValidUTF8(v, "\ufffd")), nil
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	out := &structpb.Value{}
	return out, out.UnmarshalJSON(data)
}

// nullEmpty replaces empty lists and mappings with null.
func nullEmpty(tree map[string]any) {
	for key, value := range tree {
		switch v := value.(type) {
		case []any:
			if len(v) == 0 {
				tree[key] = nil
			}
		case map[string]any:
			nullEmpty(v)
			if len(v) == 0 {
				tree[key] = nil
			}
		}
	}
}

// byDevice returns the given values by device, without empty ones.
func byDevice[T any](cpu, cuda, rocm T, given func(T) bool) map[string]any {
	out := map[string]any{}
	for device, v := range map[string]T{"cpu": cpu, "cuda": cuda, "rocm": rocm} {
		if given(v) {
			out[device] = v
		}
	}
	return out
}

// shownRaw returns a mapping of another system, empty if none was given.
func shownRaw(r document.Raw) any {
	if r.IsZero() {
		return map[string]any{}
	}
	return r.MarshalDocument()
}

// Store encodes a configuration for Load, including the registry's password: the result is for the
// master's own store only.
func Store(c Config) (json.RawMessage, error) {
	tree, err := document.ShowWithSecrets(c)
	if err != nil {
		return nil, fmt.Errorf("store the configuration: %w", err)
	}
	data, err := json.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("store the configuration: %w", err)
	}
	return data, nil
}

// Load decodes the result of Store.
func Load(data json.RawMessage) (Config, error) {
	c, err := decodeJSON(data)
	if err != nil {
		return c, fmt.Errorf("load the configuration: %w", err)
	}
	return c, nil
}

// Forget removes the registry's password from a stored configuration that will not run again.
func Forget(data json.RawMessage) (json.RawMessage, error) {
	var has struct {
		Environment struct {
			RegistryAuth json.RawMessage `json:"registry_auth"`
		} `json:"environment"`
	}
	if err := json.Unmarshal(data, &has); err == nil && has.Environment.RegistryAuth == nil {
		return data, nil
	}
	c, err := Load(data)
	if err != nil {
		return nil, err
	}
	if c.Environment.RegistryAuth == nil {
		return data, nil
	}
	c.Environment.RegistryAuth = nil
	return Store(c)
}
