package detect

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// detectROCm runs rocm-smi to list the AMD GPUs.
func detectROCm(ctx context.Context, o Options) ([]*apiv1.Device, error) {
	out, err := runTool(ctx, o.Run, "rocm-smi", "--showproductname", "--showuniqueid", "--json")
	if err != nil {
		return nil, err
	}
	cards, err := parseROCm(out)
	if err != nil {
		return nil, fmt.Errorf("read rocm-smi --json: %w", err)
	}
	if cards, err = visibleOnly(cards, o.VisibleGPUs); err != nil {
		return nil, err
	}
	return newDevices(cards, apiv1.Device_TYPE_ROCM, false)
}

func parseROCm(out []byte) ([]card, error) {
	// Some releases print warnings before the document.
	if i := bytes.IndexByte(out, '{'); i > 0 {
		out = out[i:]
	}
	var doc map[string]map[string]any
	if err := json.Unmarshal(out, &doc); err != nil {
		return nil, err
	}
	var cards []card
	for name, fields := range doc {
		number, isCard := strings.CutPrefix(name, "card")
		if !isCard {
			continue // "system" and the like
		}
		index, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("invalid key %q: must be card<number>", name)
		}
		c := card{
			index: index,
			brand: firstField(fields, "card series", "card model", "device name"),
			uuid:  firstField(fields, "unique id"),
		}
		if c.uuid == "" || strings.EqualFold(c.uuid, "N/A") {
			return nil, fmt.Errorf("%s has no unique id", name)
		}
		cards = append(cards, c)
	}
	slices.SortFunc(cards, func(a, b card) int { return cmp.Compare(a.index, b.index) })
	return cards, nil
}

// firstField returns the first non-empty field of names. It ignores case, which differs between
// releases of rocm-smi, and is deterministic for keys that differ only in case.
func firstField(fields map[string]any, names ...string) string {
	for _, name := range names {
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			if s, ok := fields[key].(string); ok && strings.EqualFold(key, name) && s != "" {
				return s
			}
		}
	}
	return ""
}
