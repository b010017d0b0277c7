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

// Regions are the regions that a form offers.
type Regions struct {
	Names []string
	Uses  map[string]RegionUse
	// Preferred is the environment's region, or empty.
	Preferred string
	// Place returns the place of a region, or "" if it is unknown.
	Place func(region string) string
}

// Choices lists the preferred region first, then those with clusters, then those with machines, each
// sorted by name.
func (r Regions) Choices() []term.Choice {
	sorted := slices.Clone(r.Names)
	slices.SortFunc(sorted, func(a, b string) int {
		x, y := r.Uses[a], r.Uses[b]
		return cmp.Or(r.rank(a)-r.rank(b), cmp.Compare(len(y.Clusters), len(x.Clusters)), cmp.Compare(y.Machines, x.Machines), cmp.Compare(a, b))
	})
	out := make([]term.Choice, len(sorted))
	for i, name := range sorted {
		about := []string{r.Place(name), r.Uses[name].String()}
		about = slices.DeleteFunc(about, func(s string) bool { return s == "" })
		out[i] = term.Choice{Value: name, About: strings.Join(about, ": ")}
	}
	return out
}

// rank returns 0 for the preferred region and 1 for others.
func (r Regions) rank(region string) int {
	if region == r.Preferred {
		return 0
	}
	return 1
}
