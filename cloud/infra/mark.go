package infra

import (
	"maps"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// markPath begins the path of drift in a mark.
const markPath = "tags."

// MarkDrift compares the marks of an object (tags, labels) with the wanted ones.
// What the user's own tools added is left alone, and so is a mark that is no longer
// asked for: the two cannot be told apart.
func MarkDrift(have, want map[string]string) []resource.Drift {
	var out []resource.Drift
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if have[k] != want[k] {
			out = append(out, resource.Drift{Path: markPath + k, Have: have[k], Want: want[k]})
		}
	}
	return out
}

// WantedMarks returns the marks named in drift as they are wanted.
func WantedMarks(drift []resource.Drift) map[string]string {
	out := make(map[string]string)
	for _, d := range drift {
		if k, ok := strings.CutPrefix(d.Path, markPath); ok {
			out[k] = d.Want
		}
	}
	return out
}

// Differences leaves out what is as wanted.
func Differences(all ...resource.Drift) []resource.Drift {
	var out []resource.Drift
	for _, d := range all {
		if d.Have != d.Want {
			out = append(out, d)
		}
	}
	return out
}

// Fixed is an attribute that another object is needed for.
func Fixed(path, have, want string) resource.Drift {
	return resource.Drift{Path: path, Have: have, Want: want, Replace: true}
}

// Changeable is an attribute that is changed in place.
func Changeable(path, have, want string) resource.Drift {
	return resource.Drift{Path: path, Have: have, Want: want}
}
