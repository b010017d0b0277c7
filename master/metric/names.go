package metric

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/store"
)

const (
	// maxGroups and maxNames limit the names that a trial reports in all its runs, because each name
	// has a summary that is read with the trial.
	maxGroups = 64
	maxNames  = 1_000
)

// names maps the groups that a trial has reported to their sorted names. It is immutable.
type names map[string][]string

// nameDocs are the names of trials. They lack names that were reported to earlier versions.
var nameDocs = store.Collection[names]{Kind: "metric_names"}

func readNames(ctx context.Context, tx *store.Tx, trial int64) (names, error) {
	d, _, err := nameDocs.Get(ctx, tx, summaryID(trial))
	return d.Value, err
}

func (n names) count() int {
	total := 0
	for _, list := range n {
		total += len(list)
	}
	return total
}

// add returns n with the names of a report, or n itself if all names are known. It returns an error
// if the report exceeds a limit.
func (n names) add(r Report) (all names, grown bool, err error) {
	list, known := n[r.Group]
	if !known && len(n) >= maxGroups {
		return n, false, fmt.Errorf("group: a trial has at most %d groups, and %q would be one more; use different names within one group",
			maxGroups, excerpt.Of(r.Group))
	}
	fresh := r.namesBesides(list)
	if known && len(fresh) == 0 {
		return n, false, nil
	}
	if total := n.count() + len(fresh); total > maxNames {
		return n, false, fmt.Errorf("metrics: a trial has at most %d names, and with %q it would have %d; report lists as one value, or write them to files",
			maxNames, excerpt.Of(fresh[0]), total)
	}
	all = maps.Clone(n)
	if all == nil {
		all = names{}
	}
	all[r.Group] = slices.Sorted(slices.Values(slices.Concat(list, fresh)))
	return all, true, nil
}

// namesBesides returns the sorted names in a report that the sorted list lacks.
func (r Report) namesBesides(list []string) []string {
	fresh := map[string]bool{}
	for _, values := range append([]map[string]any{r.Values.Averages}, r.Values.Batches...) {
		for name := range values {
			if _, found := slices.BinarySearch(list, name); !found {
				fresh[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(fresh))
}

// keepNames stores the names of a trial in the transaction that adds some.
func (w *write) keepNames(tx *store.Tx, n names) error {
	w.names = n
	return nameDocs.Put(tx, summaryID(w.trial), "", time.Time{}, n)
}
