package installer

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/apply"
	"github.com/det-deploy/det-deploy/installer/plan"
)

// ReceiptSchema names the version of a receipt's JSON format.
const ReceiptSchema = "det-deploy.receipt/v1"

// Receipt is the outcome of Down for every object of a cluster.
type Receipt struct {
	Schema  string `json:"schema"`
	Cluster string `json:"cluster"`
	// Removed objects were deleted. Kept objects were kept on purpose, each for a reason. Left
	// objects could not be deleted.
	Removed []resource.Found `json:"removed"`
	Kept    []resource.Found `json:"kept"`
	Left    []resource.Found `json:"left"`
}

// KeptReceipt returns the receipt of a cluster without objects to delete. It lists the objects that
// an earlier `down` kept.
func KeptReceipt(p plan.Plan) Receipt { return newReceipt(p.Cluster, p) }

func newReceipt(cluster string, done plan.Plan) Receipt {
	r := Receipt{
		Schema: ReceiptSchema, Cluster: cluster,
		Removed: []resource.Found{}, Kept: []resource.Found{}, Left: []resource.Found{},
	}
	for _, s := range done.Steps {
		if s.Verb == plan.Keep {
			r.Kept = append(r.Kept, s.Found)
		}
	}
	r.addDeleted(done)
	return r
}

// addDeleted adds the objects that done deleted to Removed.
func (r *Receipt) addDeleted(done plan.Plan) {
	for _, f := range toDelete(done) {
		if !r.countsAny([]resource.Found{f}) {
			r.Removed = append(r.Removed, f)
		}
	}
}

// countsAny reports whether one of fs is in Removed.
func (r *Receipt) countsAny(fs []resource.Found) bool {
	for _, f := range fs {
		for _, gone := range r.Removed {
			if f.Key() == gone.Key() {
				return true
			}
		}
	}
	return false
}

// Render writes the receipt as text.
func (r Receipt) Render(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Cluster %s: %d removed, %d kept, %d left.\n", r.Cluster, len(r.Removed), len(r.Kept), len(r.Left))
	for _, f := range r.Kept {
		fmt.Fprintf(&b, "  kept  %s: %s\n", f, f.Retain)
	}
	for _, f := range r.Left {
		fmt.Fprintf(&b, "  left  %s\n", f)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the receipt: %w", err)
	}
	return nil
}

// Err returns a *LeftError if objects are left, and nil otherwise.
func (r Receipt) Err() error {
	if len(r.Left) == 0 {
		return nil
	}
	return &LeftError{r.Left}
}

// LeftError reports objects of a cluster that Down could not delete.
type LeftError struct {
	Left []resource.Found
}

// Error names the objects.
func (e *LeftError) Error() string {
	names := make([]string, len(e.Left))
	for i, f := range e.Left {
		names[i] = f.String()
	}
	return "could not be removed: " + strings.Join(names, ", ")
}

// Hint names the command that continues.
func (e *LeftError) Hint() string {
	return "run the same command again; it continues with what is left"
}

func toDelete(p plan.Plan) []resource.Found {
	out := []resource.Found{} // an empty JSON list in place of null
	for _, s := range p.Steps {
		if s.Verb == plan.Delete {
			out = append(out, s.Found)
		}
	}
	return out
}

func (in *Installer) settleLimit() time.Duration {
	if in.Apply.Settle > 0 {
		return in.Apply.Settle
	}
	return apply.DefaultSettle
}
