package manifests

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Compare returns the differences between two manifests. It shows neither the content of files nor
// their hashes.
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
		out = append(out, compareSums(name, have.Files[name].SHA256, want.Files[name].SHA256)...)
	}
	for _, arch := range slices.Sorted(maps.Keys(want.Binaries)) {
		out = append(out, compareSums("program."+arch, have.Binaries[arch].SHA256, want.Binaries[arch].SHA256)...)
	}
	add("phase", string(have.Phase), string(want.Phase))
	add("logs", orAbsent(have.Logs), orAbsent(want.Logs))
	add("metrics", fmt.Sprint(have.Metrics), fmt.Sprint(want.Metrics))
	add("health", fmt.Sprint(have.Health), fmt.Sprint(want.Health))
	return out
}

// compareSums describes a file or program that differs by its hash.
func compareSums(path, have, want string) []resource.Drift {
	if have == want {
		return nil
	}
	d := resource.Drift{Path: path, Have: "outdated", Want: "current", Digest: have + " " + want}
	if have == "" {
		d.Have, d.Want = "absent", "present"
	}
	if want == "" {
		d.Have, d.Want = "present", "absent"
	}
	return []resource.Drift{d}
}

func orAbsent(s string) string {
	if s == "" {
		return "absent"
	}
	return s
}

// ShortHash returns the first 12 digits of a hash, for display.
func ShortHash(sum string) string { return strings.ToLower(sum)[:min(len(sum), 12)] }
