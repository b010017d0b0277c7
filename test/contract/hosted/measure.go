package hostedtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/plan"
	installertest "github.com/det-deploy/det-deploy/test/contract/installer"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
)

// Most limits the number of sequential calls: after the plan of the first `up`, and in all of it.
type Most struct{ Behind, InAll int }

// MeasureLife creates a cluster, runs up again and deletes it. It logs the number of sequential
// calls, each of which takes call.
func (s *Stage) MeasureLife(t *testing.T, call time.Duration, journal func() []faults.Entry, most Most) {
	t.Helper()
	var in *installer.Installer
	var p plan.Plan
	ctx := t.Context()
	look := installertest.Part{Name: "looking", Do: func() (err error) {
		in, _, err = s.Operator(ctx)
		return err
	}}
	survey := installertest.Part{Name: "survey", Do: func() error {
		report, made, err := in.Survey(ctx)
		p = made
		return errors.Join(report.Err(), err)
	}}
	up := installertest.Path{Command: "up", Call: call, Journal: journal, Most: most.InAll}
	up.Measure(t, look, survey, installertest.Part{Name: "making", Most: most.Behind, Do: func() error { return in.Up(ctx, p) }})
	installertest.Path{Command: "up again", Call: call, Journal: journal}.Measure(t, look, survey)
	if !p.Empty() {
		t.Errorf("up again: got a plan with something to do: %s", p.Summary())
	}
	installertest.Path{Command: "down", Call: call, Journal: journal}.Measure(
		t, look,
		installertest.Part{Name: "plan", Do: func() (err error) { p, err = in.PlanDown(ctx, true); return err }},
		installertest.Part{Name: "removing", Do: func() error { return remove(ctx, in, p) }},
	)
}

func remove(ctx context.Context, in *installer.Installer, p plan.Plan) error {
	r, err := in.Down(ctx, p, true)
	return errors.Join(err, r.Err())
}
