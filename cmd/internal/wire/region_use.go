package wire

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// RegionUse counts the clusters and machines of an account in a region.
type RegionUse struct {
	Clusters []string
	Machines int
}

// String returns text such as "cluster lab, 3 machines".
func (u RegionUse) String() string {
	var out []string
	switch len(u.Clusters) {
	case 0:
	case 1:
		out = append(out, "cluster "+u.Clusters[0])
	default:
		out = append(out, fmt.Sprintf("%d clusters", len(u.Clusters)))
	}
	switch {
	case u.Machines == 1:
		out = append(out, "1 machine")
	case u.Machines > 1:
		out = append(out, fmt.Sprintf("%d machines", u.Machines))
	}
	return strings.Join(out, ", ")
}

// RegionChoices lists regions: those with clusters first, then those with machines, each sorted by name.
func RegionChoices(regions []string, uses map[string]RegionUse) []term.Choice {
	sorted := slices.Clone(regions)
	slices.SortFunc(sorted, func(a, b string) int {
		x, y := uses[a], uses[b]
		return cmp.Or(cmp.Compare(len(y.Clusters), len(x.Clusters)), cmp.Compare(y.Machines, x.Machines), cmp.Compare(a, b))
	})
	out := make([]term.Choice, len(sorted))
	for i, r := range sorted {
		out[i] = term.Choice{Value: r, About: uses[r].String()}
	}
	return out
}
