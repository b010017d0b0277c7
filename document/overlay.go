package document

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Overlay puts the mapping over onto the mapping base, both YAML or JSON: mappings are
// merged key by key, everything else takes the place of what was there.
func Overlay(base, over []byte) ([]byte, error) {
	var below, above map[string]any
	if err := yaml.Unmarshal(base, &below); err != nil {
		return nil, fmt.Errorf("read what is below: %w", err)
	}
	if err := yaml.Unmarshal(over, &above); err != nil {
		return nil, fmt.Errorf("read what goes over it: %w", err)
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(mergeMaps(below, above)); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return b.Bytes(), nil
}

func mergeMaps(below, above map[string]any) map[string]any {
	if below == nil {
		below = map[string]any{}
	}
	for k, v := range above {
		m, isMap := v.(map[string]any)
		under, wasMap := below[k].(map[string]any)
		if isMap && wasMap {
			below[k] = mergeMaps(under, m)
			continue
		}
		below[k] = wholeNumbers(v)
	}
	return below
}

// wholeNumbers writes a number without a fraction as one, which YAML would otherwise
// print as 1e+06.
func wholeNumbers(v any) any {
	switch v := v.(type) {
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	case []any:
		for i := range v {
			v[i] = wholeNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = wholeNumbers(v[k])
		}
	}
	return v
}
