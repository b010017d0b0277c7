// Package agree shows a person what is about to be done to a cluster and asks
// whether it should be: the same words for every platform. Where nobody can be
// asked, the error names the flag that answers.
package agree

import (
	"context"
	"maps"
	"slices"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/record"
)

// Asker is a command that shows something and asks.
type Asker struct {
	*term.Streams

	Output term.Format
	Yes    bool
}

// Flags refuses --yes beside --dry-run.
func Flags(dryRun, yes bool) error {
	if dryRun && yes {
		return usage.Errorf("--dry-run and --yes exclude each other: a dry run asks nothing")
	}
	return nil
}

// Tell returns where the events of an operation go: lines for people, JSON for
// programs, both on stderr.
func (a Asker) Tell() event.Sink {
	if a.Output == term.JSON {
		return event.JSON(a.Err)
	}
	return a.Progress()
}

// Plan prints a plan as the answer.
func (a Asker) Plan(p plan.Plan) error {
	if a.Output == term.JSON {
		return a.PrintJSON(p)
	}
	return p.Render(a.Out)
}

// Checks shows what was looked at and refuses when something does not hold.
func (a Asker) Checks(r doctor.Report) error {
	if a.Output == term.Text {
		if err := r.Render(a.Err); err != nil {
			return err
		}
	}
	return r.Err()
}

// Up shows a plan and asks, unless nothing is to do. A plan that refuses something is
// not asked about: no answer would have it applied.
func (a Asker) Up(ctx context.Context, p plan.Plan) (bool, error) {
	if err := a.show(p); err != nil {
		return false, err
	}
	if err := p.Refusal(); err != nil {
		return false, err
	}
	if p.Empty() || a.Yes {
		return true, nil
	}
	return a.ask(ctx, "Apply this plan?")
}

// Down shows the plan and asks: for the id where data goes, for a yes elsewhere.
func (a Asker) Down(ctx context.Context, cluster string, p plan.Plan, deleteData bool) (agreed bool, err error) {
	if err := a.show(p); err != nil {
		return false, err
	}
	if a.Yes {
		return true, nil
	}
	if !deleteData {
		return a.ask(ctx, "Take cluster "+cluster+" down?")
	}
	q := term.Question{Text: "This removes the data of cluster " + cluster + " for good.", Flag: "--yes"}
	agreed, err = a.ConfirmTyped(ctx, q, cluster)
	return a.heard(agreed, err)
}

// Upgrade says what would change and asks.
func (a Asker) Upgrade(ctx context.Context, cluster string, from, to record.Release) (bool, error) {
	if a.Output == term.Text {
		was, next := names(from, to)
		a.Notef("Cluster %s runs det-deploy %s; this is %s.", cluster, was, next)
		a.Notef("The master stops, its store is kept, and the new one is tried on a copy of it first.")
		a.Notef("Tasks go on; until the new master serves, the old one can come back.")
	}
	if a.Yes {
		return true, nil
	}
	return a.ask(ctx, "Upgrade it?")
}

// Abandon says what giving an upgrade up would do and asks.
func (a Asker) Abandon(ctx context.Context, cluster string, u installer.Abandoned) (bool, error) {
	if a.Output == term.Text {
		a.Notef("Cluster %s goes back %s. Its store stays as it is, and tasks go on.", cluster, back(u))
	}
	if a.Yes {
		return true, nil
	}
	return a.ask(ctx, "Give the upgrade up?")
}

// back is "from det-deploy 1.1 to 1.0".
func back(u installer.Abandoned) string {
	if u.From.IsZero() {
		return "to det-deploy " + u.To.String()
	}
	was, next := names(u.From, u.To)
	return "from det-deploy " + was + " to " + next
}

// abandoned is the JSON form of what giving an upgrade up came to.
type abandoned struct {
	Schema  string `json:"schema"`
	Cluster string `json:"cluster"`

	installer.Abandoned

	DryRun bool `json:"dry_run"`
}

// PrintAbandon prints what giving an upgrade up came to, or would.
func (a Asker) PrintAbandon(cluster string, u installer.Abandoned, dryRun bool) error {
	if a.Output == term.JSON {
		return a.PrintJSON(abandoned{"det-deploy.abandon/v1", cluster, u, dryRun})
	}
	switch {
	case !u.Changed:
		a.Printf("Cluster %s runs det-deploy %s, and no upgrade is under way.", cluster, u.To)
	case dryRun:
		a.Printf("Cluster %s would go back %s.", cluster, back(u))
	default:
		a.Printf("Cluster %s runs det-deploy %s again.", cluster, u.To)
	}
	return nil
}

func (a Asker) show(p plan.Plan) error {
	if a.Output == term.JSON {
		return nil
	}
	return p.Render(a.Err)
}

func (a Asker) ask(ctx context.Context, text string) (bool, error) {
	agreed, err := a.Confirm(ctx, term.Question{Text: text, Flag: "--yes"})
	return a.heard(agreed, err)
}

func (a Asker) heard(agreed bool, err error) (bool, error) {
	if err == nil && !agreed {
		a.Notef("Nothing was changed.")
	}
	return agreed, err
}

// Upgraded is the JSON form of what an upgrade came to.
type Upgraded struct {
	Schema  string `json:"schema"`
	Cluster string `json:"cluster"`

	installer.Upgraded

	DryRun bool `json:"dry_run"`
}

// names are two releases so that they can be told apart: builds of one version by
// the start of a program's hash.
func names(a, b record.Release) (string, string) {
	if a.Version != b.Version || a.Same(b) {
		return a.String(), b.String()
	}
	return build(a, b), build(b, a)
}

// build names r by the program in which it differs from o.
func build(r, o record.Release) string {
	for _, platform := range slices.Sorted(maps.Keys(r.Programs)) {
		if sum := r.Programs[platform]; sum != o.Programs[platform] {
			return r.Version + " (" + sum[:min(8, len(sum))] + ")"
		}
	}
	return r.String()
}

// Receipt prints what became of a cluster that was taken down.
func (a Asker) Receipt(r installer.Receipt) error {
	if a.Output == term.JSON {
		return a.PrintJSON(r)
	}
	return r.Render(a.Out)
}

// PrintUpgrade prints what an upgrade came to, or would.
func (a Asker) PrintUpgrade(cluster string, u installer.Upgraded, dryRun bool) error {
	if a.Output == term.JSON {
		return a.PrintJSON(Upgraded{"det-deploy.upgrade/v1", cluster, u, dryRun})
	}
	was, next := names(u.From, u.To)
	switch {
	case !u.Changed:
		a.Printf("Cluster %s runs det-deploy %s already.", cluster, u.To)
	case dryRun:
		a.Printf("Cluster %s would be upgraded from det-deploy %s to %s.", cluster, was, next)
	default:
		a.Printf("Cluster %s runs det-deploy %s now; before it was %s.", cluster, next, was)
		if u.Backup != "" {
			a.Printf("The store as it was before is kept in %s.", u.Backup)
		}
	}
	return nil
}
