package policy

import "slices"

// Actions returns the unique actions of documents.
func Actions(documents []Named) []string {
	var out []string
	for _, d := range documents {
		out = append(out, d.Document.Actions()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
