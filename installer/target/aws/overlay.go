package aws

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// merge puts the mapping over, which is JSON, over the document base: mappings
// are merged key by key, everything else takes the place of what was there.
func merge(base, over []byte) ([]byte, error) {
	var below, above map[string]any
	if err := yaml.Unmarshal(base, &below); err != nil {
		return nil, fmt.Errorf("read what is below: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(over))
	if err := d.Decode(&above); err != nil {
		return nil, fmt.Errorf("read what goes over it: %w", err)
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(merged(below, above)); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return b.Bytes(), nil
}

func merged(below, above map[string]any) map[string]any {
	if below == nil {
		below = map[string]any{}
	}
	for k, v := range above {
		m, isMap := v.(map[string]any)
		under, wasMap := below[k].(map[string]any)
		if isMap && wasMap {
			below[k] = merged(under, m)
			continue
		}
		below[k] = whole(v)
	}
	return below
}

// whole writes a number of JSON without a fraction as one, which YAML would
// otherwise print as 1e+06.
func whole(v any) any {
	switch v := v.(type) {
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = whole(v[k])
		}
	}
	return v
}
