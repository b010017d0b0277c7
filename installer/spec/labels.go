package spec

import (
	"maps"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/gcp/properties"
	"github.com/det-deploy/det-deploy/internal/document"
)

// Labels is further labels of Google's, as a mapping or as a list of key=value.
type Labels map[string]string

// UnmarshalDocument reads a mapping, or what a flag has: key=value,key=value.
func (l *Labels) UnmarshalDocument(v document.Value) {
	if pairs, ok := readPairs(v); ok {
		*l = pairs
	}
}

// DocumentShape names the written form.
func (Labels) DocumentShape() string { return "map of text" }

// MarshalDocument writes the mapping.
func (l Labels) MarshalDocument() any { return map[string]string(l) }

// maxLabels is Google's 64 of a resource, less the cluster's own and a pool's.
const maxLabels = 40

// Validate checks Google's limits, and that no label of the cluster's own is taken.
func (l Labels) Validate(path string) document.Errors {
	var e document.Errors
	e.Check(len(l) <= maxLabels, path, "must be at most %d (are %d)", maxLabels, len(l))
	for _, key := range slices.Sorted(maps.Keys(l)) {
		at := document.Join(path, key)
		ours := strings.HasPrefix(key, "det-deploy-") || strings.HasPrefix(key, "determined-") || key == "managed-by"
		e.Check(!ours, at, "is a label that the cluster puts on by itself")
		e.Check(!strings.HasPrefix(key, "goog-"), at, "begins with goog-, which is Google's own")
		e.Check(properties.IsLabelKey(key), at, "must have a key of 1 to 63 lower-case letters, digits, dashes and underscores, a letter first")
		e.Check(properties.IsLabelValue(l[key]), at, "must have a value of up to 63 lower-case letters, digits, dashes and underscores (is %q)", l[key])
	}
	return e
}
