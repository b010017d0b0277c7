package cluster

import (
	"context"
	"maps"
	"slices"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/apply"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/record"
)

// prompt shows the planned changes to a cluster and asks for confirmation. Without a terminal, it returns
// an error that names the flag to use instead.
type prompt struct {
	*term.Streams

	Output   term.Format
	Yes      bool
	progress *term.Progress
}

func newPrompt(s *term.Streams, output term.Format, yes bool) prompt {
	return prompt{Streams: s, Output: output, Yes: yes, progress: s.NewProgress()}
}

// eventSink returns the sink for the events of an operation. Both formats, text and JSON, go to stderr.
func (a prompt) eventSink() event.Sink {
	if a.Output == term.JSON {
		return event.JSON(a.Err)
	}
	return a.progress.Show
}

// printPlan prints a plan to stdout.
func (a prompt) printPlan(p plan.Plan) error {
	if a.Output == term.JSON {
		return a.PrintJSON(p)
	}
	return p.Render(a.Out)
}

// printChecks prints the results of the checks and returns an error if one failed.
func (a prompt) printChecks(r doctor.Report) error {
	if a.Output == term.Text {
		if err := r.Render(a.Err); err != nil {
			return err
		}
	}
	return r.Err()
}

// confirmUp shows a plan and asks for confirmation unless the plan is empty. It does not ask if the plan
// contains a refused change, because such a plan cannot be applied.
func (a prompt) confirmUp(ctx context.Context, p plan.Plan) (bool, error) {
	if err := a.showPlan(p); err != nil {
		return false, err
	}
	if err := p.Refusal(); err != nil {
		return false, err
	}
	if p.Empty() || a.Yes {
		return true, nil
	}
	return a.confirmOperation(ctx, "Apply this plan?")
}

// confirmDown shows the plan and asks for confirmation. If data is deleted, the user has to type the
// cluster ID.
func (a prompt) confirmDown(ctx context.Context, cluster string, p plan.Plan, deleteData bool) (agreed bool, err error) {
	if err := a.showPlan(p); err != nil {
		return false, err
	}
	if a.Yes {
		return true, nil
	}
	if !deleteData {
		return a.confirmOperation(ctx, "Remove cluster "+cluster+" and keep its data?")
	}
	q := term.Question{Text: "This permanently deletes the data of cluster " + cluster + ".", Flag: "--yes"}
	agreed, err = a.ConfirmTyped(ctx, q, cluster)
	return a.answered(agreed, err)
}

// confirmForget asks whether the settings of a removed cluster shall be deleted.
func (a prompt) confirmForget(ctx context.Context, cluster string) (bool, error) {
	if a.Yes {
		return true, nil
	}
	return a.confirmOperation(ctx, "Forget the settings of cluster "+cluster+"?")
}

// confirmUpgrade shows the effects of an upgrade and asks for confirmation.
func (a prompt) confirmUpgrade(ctx context.Context, cluster string, from, to record.Release) (bool, error) {
	if a.Output == term.Text {
		was, next := releaseNames(from, to)
		a.Notef("Cluster %s will be upgraded from det-deploy %s to %s.", cluster, was, next)
		a.Notef("The master stops, its store is preserved, and the new master is first tested on a copy.")
		a.Notef("Tasks continue. Until the new master serves, a failed upgrade is rolled back.")
	}
	if a.Yes {
		return true, nil
	}
	return a.confirmOperation(ctx, "Upgrade the cluster?")
}

// confirmAbandon shows the effects of abandoning an upgrade and asks for confirmation.
func (a prompt) confirmAbandon(ctx context.Context, cluster string, u installer.Abandoned) (bool, error) {
	if a.Output == term.Text {
		a.Notef("Cluster %s will return %s. Its store is unchanged, and tasks continue.", cluster, wayBack(u))
	}
	if a.Yes {
		return true, nil
	}
	return a.confirmOperation(ctx, "Abandon the upgrade?")
}

// wayBack returns text such as "from det-deploy 1.1 to 1.0".
func wayBack(u installer.Abandoned) string {
	if u.From.IsZero() {
		return "to det-deploy " + u.To.String()
	}
	was, next := releaseNames(u.From, u.To)
	return "from det-deploy " + was + " to " + next
}

// abandoned is the JSON output of an abandoned upgrade.
type abandoned struct {
	Schema  string `json:"schema"`
	Cluster string `json:"cluster"`

	installer.Abandoned

	DryRun bool `json:"dry_run"`
}

// printAbandon prints the result of abandoning an upgrade, or the expected result of a dry run.
func (a prompt) printAbandon(cluster string, u installer.Abandoned, dryRun bool) error {
	if a.Output == term.JSON {
		return a.PrintJSON(abandoned{"det-deploy.abandon/v1", cluster, u, dryRun})
	}
	switch {
	case !u.Changed:
		a.Printf("Cluster %s runs det-deploy %s; no upgrade is in progress.", cluster, u.To)
	case dryRun:
		a.Printf("Cluster %s would return %s.", cluster, wayBack(u))
	default:
		a.Printf("Abandoned the upgrade. Cluster %s runs det-deploy %s.", cluster, u.To)
	}
	return nil
}

// questionRows is the room for the question below a plan, and the line of the cursor.
const questionRows = 2

// showPlan shows a plan that may be applied, and passes its steps to the progress display.
func (a prompt) showPlan(p plan.Plan) error {
	if a.Output == term.JSON {
		return nil
	}
	var steps []term.Step
	for _, n := range apply.Graph(p) {
		steps = append(steps, term.Step(n))
	}
	a.progress.Expect(steps)
	return p.RenderFolded(a.Err, max(0, a.ErrRows()-questionRows))
}

func (a prompt) confirmOperation(ctx context.Context, text string) (bool, error) {
	agreed, err := a.Confirm(ctx, term.Question{Text: text, Flag: "--yes"})
	return a.answered(agreed, err)
}

func (a prompt) answered(agreed bool, err error) (bool, error) {
	if err == nil && !agreed {
		a.Notef("Nothing was changed.")
	}
	return agreed, err
}

// upgraded is the JSON output of upgrade.
type upgraded struct {
	Schema  string `json:"schema"`
	Cluster string `json:"cluster"`

	installer.Upgraded

	DryRun bool `json:"dry_run"`
}

// releaseNames returns distinct names of two releases. Builds of the same version are followed by the
// first digits of a program's hash.
func releaseNames(a, b record.Release) (string, string) {
	if a.Version != b.Version || a.Same(b) {
		return a.String(), b.String()
	}
	return buildName(a, b), buildName(b, a)
}

// buildName names r by the hash of the first program that differs from that of o.
func buildName(r, o record.Release) string {
	for _, platform := range slices.Sorted(maps.Keys(r.Programs)) {
		if sum := r.Programs[platform]; sum != o.Programs[platform] {
			return r.Version + " (" + sum[:min(8, len(sum))] + ")"
		}
	}
	return r.String()
}

// printReceipt prints the receipt of a removed cluster.
func (a prompt) printReceipt(r installer.Receipt) error {
	if a.Output == term.JSON {
		return a.PrintJSON(r)
	}
	return r.Render(a.Out)
}

// printUpgrade prints the result of an upgrade, or the expected result of a dry run.
func (a prompt) printUpgrade(cluster string, u installer.Upgraded, dryRun bool) error {
	if a.Output == term.JSON {
		return a.PrintJSON(upgraded{"det-deploy.upgrade/v1", cluster, u, dryRun})
	}
	was, next := releaseNames(u.From, u.To)
	switch {
	case !u.Changed:
		a.Printf("Cluster %s already runs det-deploy %s.", cluster, u.To)
	case dryRun:
		a.Printf("Cluster %s would be upgraded from det-deploy %s to %s.", cluster, was, next)
	default:
		a.Printf("Upgraded cluster %s to det-deploy %s; it was %s before.", cluster, next, was)
		if u.Backup != "" {
			a.Printf("The previous store is kept in %s.", u.Backup)
		}
	}
	return nil
}
