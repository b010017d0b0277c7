package config

import (
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
)

// LocateInFragment gives those problems with a configuration that a fragment of master.yaml
// caused, which was laid over a generated one, the fragment's name and the line in it. One with
// what a whole section lacks is the fragment's only where that has the section's own setting.
// Others keep what they have. It is pure.
func LocateInFragment(fragment, name string, problems document.Errors) document.Errors {
	d, err := document.Parse([]byte(fragment), name)
	if fragment == "" || err != nil {
		return problems
	}
	var m Master
	unread := make(map[string]int) // path → line of what is no setting
	for _, p := range d.Decode(&m) {
		unread[p.Path] = p.Line
	}
	out := make(document.Errors, len(problems))
	for i, p := range problems {
		if nearest, line := d.Nearest(p.Path); nearest != "" && (nearest == p.Path || strings.ContainsAny(nearest, ".[")) {
			p.File, p.Line = name, line
		}
		if line, found := unread[p.Path]; found {
			p.File, p.Line = name, line
		}
		out[i] = p
	}
	return out
}
