package task

import (
	"maps"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

// readLabels parses the values of --label. The master checks their characters and number.
func readLabels(given []string) (map[string]string, error) {
	labels := map[string]string{}
	for _, l := range given {
		key, value, found := strings.Cut(l, "=")
		if !found || key == "" {
			return nil, usage.Errorf("--label %s: must be KEY=VALUE", l)
		}
		if have, twice := labels[key]; twice && have != value {
			return nil, usage.Errorf("--label %s: the label %s is given twice, as %q and %q", l, key, have, value)
		}
		labels[key] = value
	}
	return labels, nil
}

// formatLabels returns labels as in team=vision,size=big, in order.
func formatLabels(labels map[string]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, key+"="+labels[key])
	}
	return strings.Join(out, ",")
}
