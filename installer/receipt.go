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

// ReceiptSchema names the version of a receipt's JSON form.
const ReceiptSchema = "det-deploy.receipt/v1"

// Receipt is what became of everything that belonged to a cluster.
type Receipt struct {
	Schema  string `json:"schema"`
	Cluster string `json:"cluster"`
	// Removed is gone. Kept is there on purpose, each with its reason. Left is
	// there against our will.
	Removed []resource.Found `json:"removed"`
	Kept    []resource.Found `json:"kept"`
	Left    []resource.Found `json:"left"`
}

// KeptReceipt is the receipt of a cluster of which there is nothing to remove:
// what an earlier `down` has kept is still kept.
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

// addDeleted counts what done deleted as removed.
func (r *Receipt) addDeleted(done plan.Plan) {
	for _, f := range toDelete(done) {
		if !r.countsAny([]resource.Found{f}) {
			r.Removed = append(r.Removed, f)
		}
	}
}

// countsAny reports whether one of fs counts as removed.
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

// Render writes the receipt for people.
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

// Err returns what is left, or nil.
func (r Receipt) Err() error {
	if len(r.Left) == 0 {
		return nil
	}
	return &LeftError{r.Left}
}

// LeftError is something of a cluster that down could not remove.
type LeftError struct {
	Left []resource.Found
}

// Error names what is left.
func (e *LeftError) Error() string {
	names := make([]string, len(e.Left))
	for i, f := range e.Left {
		names[i] = f.String()
	}
	return "still there after everything was removed: " + strings.Join(names, ", ")
}

// Hint says how to go on.
func (e *LeftError) Hint() string {
	return "run the same command again; it continues with what is left"
}

func toDelete(p plan.Plan) []resource.Found {
	out := []resource.Found{} // a list in JSON, and not null
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
