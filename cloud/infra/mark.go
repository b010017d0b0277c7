package infra

import (
	"maps"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// markPath is the prefix of a mark's path in drift.
const markPath = "tags."

// MarkDrift compares the marks of an object (tags or labels) with the wanted ones. It ignores
// additional marks, because marks of other tools cannot be distinguished from marks that are no
// longer wanted.
func MarkDrift(have, want map[string]string) []resource.Drift {
	var out []resource.Drift
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if have[k] != want[k] {
			out = append(out, resource.Drift{Path: markPath + k, Have: have[k], Want: want[k]})
		}
	}
	return out
}

// WantedMarks returns the wanted values of the marks in drift.
func WantedMarks(drift []resource.Drift) map[string]string {
	out := make(map[string]string)
	for _, d := range drift {
		if k, ok := strings.CutPrefix(d.Path, markPath); ok {
			out[k] = d.Want
		}
	}
	return out
}

// Differences returns the entries that differ from the wanted value.
func Differences(all ...resource.Drift) []resource.Drift {
	var out []resource.Drift
	for _, d := range all {
		if d.Have != d.Want {
			out = append(out, d)
		}
	}
	return out
}

// Fixed returns the drift of an attribute that requires a replacement of the object.
func Fixed(path, have, want string) resource.Drift {
	return resource.Drift{Path: path, Have: have, Want: want, Replace: true}
}

// Changeable returns the drift of an attribute that can be changed in place.
func Changeable(path, have, want string) resource.Drift {
	return resource.Drift{Path: path, Have: have, Want: want}
}
