package manifests

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Compare returns the differences between two manifests. It shows files by their hashes, never by
// their content.
func Compare(have, want manifest.Manifest) []resource.Drift {
	var out []resource.Drift
	add := func(path, a, b string) {
		if a != b {
			out = append(out, resource.Drift{Path: path, Have: a, Want: b})
		}
	}
	names := slices.Collect(maps.Keys(have.Files))
	names = slices.AppendSeq(names, maps.Keys(want.Files))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		add(name, orAbsent(ShortHash(have.Files[name].SHA256)), orAbsent(ShortHash(want.Files[name].SHA256)))
	}
	for _, arch := range slices.Sorted(maps.Keys(want.Binaries)) {
		add("program."+arch, orAbsent(ShortHash(have.Binaries[arch].SHA256)), ShortHash(want.Binaries[arch].SHA256))
	}
	add("phase", string(have.Phase), string(want.Phase))
	add("logs", orAbsent(have.Logs), orAbsent(want.Logs))
	add("metrics", fmt.Sprint(have.Metrics), fmt.Sprint(want.Metrics))
	add("health", fmt.Sprint(have.Health), fmt.Sprint(want.Health))
	return out
}

func orAbsent(s string) string {
	if s == "" {
		return "absent"
	}
	return s
}

// ShortHash returns the first 12 digits of a hash, for display.
func ShortHash(sum string) string { return strings.ToLower(sum)[:min(len(sum), 12)] }
