package document

import "github.com/det-deploy/det-deploy/internal/excerpt"

// Difference is a setting in which two values differ. A missing setting has an empty value.
type Difference struct{ Path, Have, Want string }

// mostShown is the number of characters of a value that are shown.
const mostShown = 100

// Compare returns the scalar settings in which have and want differ, with secrets masked, in the order of
// want; those that only have has come last. Long values are shortened. Different secrets with the same mask
// are not found.
func Compare(have, want any) []Difference {
	before := make(map[string]string)
	old := Settings(have)
	for _, s := range old {
		before[s.Path] = s.Value
	}
	var out []Difference
	after := make(map[string]bool)
	for _, s := range Settings(want) {
		after[s.Path] = true
		if before[s.Path] != s.Value {
			out = append(out, Difference{s.Path, excerpt.UpTo(before[s.Path], mostShown), excerpt.UpTo(s.Value, mostShown)})
		}
	}
	for _, s := range old {
		if !after[s.Path] && s.Value != "" {
			out = append(out, Difference{Path: s.Path, Have: excerpt.UpTo(s.Value, mostShown)})
		}
	}
	return out
}
