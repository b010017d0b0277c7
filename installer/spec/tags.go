package spec

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/det-deploy/det-deploy/cloud/gcp/properties"
	"github.com/det-deploy/det-deploy/internal/document"
)

// Tags are additional tags, written as a mapping or as a list of key=value.
type Tags map[string]string

// UnmarshalDocument reads a mapping, or the flag syntax key=value,key=value.
func (t *Tags) UnmarshalDocument(v document.Value) {
	if pairs, ok := readPairs(v); ok {
		*t = pairs
	}
}

// readPairs reads a mapping, or the flag syntax key=value,key=value.
func readPairs(v document.Value) (map[string]string, bool) {
	if !v.IsText() {
		var m map[string]string
		ok := v.Decode(&m)
		return m, ok
	}
	out := map[string]string{}
	for part := range strings.SplitSeq(v.Text(), ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		key, value, ok := strings.Cut(part, "=")
		if !ok {
			v.Complain("must be key=value, separated by commas", "")
			return nil, false
		}
		out[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	return out, true
}

// DocumentShape implements document.Shaper.
func (Tags) DocumentShape() string { return "map of text" }

// MarshalDocument returns the mapping.
func (t Tags) MarshalDocument() any { return map[string]string(t) }

// tagText reports whether all AWS services that the cluster uses accept s in a tag.
func tagText(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.Z, unicode.N) && !strings.ContainsRune("_.:/=+@-", r)
	})
}

// reservedKeys returns the keys that the cluster sets itself.
func reservedKeys() []string { return []string{"Name", "managed_by"} }

// maxTags is AWS's limit of 50 per resource, less the cluster's own tags.
const maxTags = 40

// Validate checks the limits of AWS, and that no reserved tag is used.
func (t Tags) Validate(path string) document.Errors {
	var e document.Errors
	e.Check(len(t) <= maxTags, path, "must be at most %d (are %d)", maxTags, len(t))
	seen := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(t)) {
		at := document.Join(path, key)
		// IAM compares keys without regard to case.
		same := func(name string) bool { return strings.EqualFold(name, key) }
		ours := slices.ContainsFunc(reservedKeys(), same)
		other, twice := seen[strings.ToLower(key)]
		e.Check(!twice, at, "differs from %s only in case, which IAM ignores", other)
		seen[strings.ToLower(key)] = key
		for _, p := range []string{"det-deploy-", "determined-", "det-"} {
			ours = ours || strings.HasPrefix(strings.ToLower(key), p)
		}
		e.Check(!ours, at, "is a reserved tag that the cluster sets itself")
		e.Check(!strings.HasPrefix(strings.ToLower(key), "aws:"), at, "begins with aws:, which is Amazon's own")
		e.Check(key != "" && len([]rune(key)) <= 128, at, "must have a key of 1 to 128 characters")
		e.Check(t[key] != "" && len([]rune(t[key])) <= 256, at, "must have a value of 1 to 256 characters")
		e.Check(tagText(key+t[key]), at, "must be letters, digits, spaces and _ . : / = + - @ only, as must its value (is %q)", t[key])
	}
	return e
}

// Labels are additional Google Cloud labels, written as a mapping or as a list of key=value.
type Labels map[string]string

// UnmarshalDocument reads a mapping, or the flag syntax key=value,key=value.
func (l *Labels) UnmarshalDocument(v document.Value) {
	if pairs, ok := readPairs(v); ok {
		*l = pairs
	}
}

// DocumentShape implements document.Shaper.
func (Labels) DocumentShape() string { return "map of text" }

// MarshalDocument returns the mapping.
func (l Labels) MarshalDocument() any { return map[string]string(l) }

// maxLabels is Google's limit of 64 per resource, less the cluster's and a pool's labels.
const maxLabels = 40

// Validate checks the limits of Google Cloud, and that no reserved label is used.
func (l Labels) Validate(path string) document.Errors {
	var e document.Errors
	e.Check(len(l) <= maxLabels, path, "must be at most %d (are %d)", maxLabels, len(l))
	for _, key := range slices.Sorted(maps.Keys(l)) {
		at := document.Join(path, key)
		ours := strings.HasPrefix(key, "det-deploy-") || strings.HasPrefix(key, "determined-") || key == "managed-by"
		e.Check(!ours, at, "is a reserved label that the cluster sets itself")
		e.Check(!strings.HasPrefix(key, "goog-"), at, "begins with goog-, which is Google's own")
		e.Check(properties.IsLabelKey(key), at, "must have a key of 1 to 63 lower-case letters, digits, hyphens and underscores, beginning with a letter")
		e.Check(properties.IsLabelValue(l[key]), at, "must have a value of up to 63 lower-case letters, digits, dashes and underscores (is %q)", l[key])
	}
	return e
}
