package hostedtest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/apply"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/record"
)

// Operator opens the cluster as a new process does.
func (s *Stage) Operator(ctx context.Context) (*installer.Installer, Target, error) {
	gate := new(resource.Gate)
	t, store, err := s.open(ctx, gate)
	if err != nil {
		return nil, nil, err
	}
	settings, err := t.Remember()
	if err != nil {
		return nil, nil, err
	}
	return &installer.Installer{
		Cluster: Cluster, Platform: s.Platform.Name, Settings: settings, Deployment: t, Store: store, Gate: gate,
		Holder: record.Holder{Owner: "ann", Host: "h", Nonce: "ann"}, Dead: s.Dead, Apply: apply.Config{Settle: s.Platform.Settle}, SideBySide: true, LateLists: true,
	}, t, nil
}

// Up checks, plans and creates the cluster.
func (s *Stage) Up(ctx context.Context) error {
	in, _, err := s.Operator(ctx)
	if err != nil {
		return err
	}
	report, p, err := in.Survey(ctx)
	if failed := report.Err(); failed != nil {
		return failed
	}
	if err != nil {
		return err
	}
	return in.Up(ctx, p)
}

// Down deletes the cluster. It needs no binaries, like the command.
func (s *Stage) Down(ctx context.Context, deleteData bool) (installer.Receipt, error) {
	brought := s.Programs
	s.Programs = nil
	defer func() { s.Programs = brought }()
	in, _, err := s.Operator(ctx)
	if err != nil {
		return installer.Receipt{}, err
	}
	p, err := in.PlanDown(ctx, deleteData)
	if err != nil {
		return installer.Receipt{}, err
	}
	return in.Down(ctx, p, deleteData)
}

// Upgrade upgrades the cluster to the version of the stage.
func (s *Stage) Upgrade(ctx context.Context) error {
	in, target, err := s.Operator(ctx)
	if err != nil {
		return err
	}
	_, err = in.Upgrade(ctx, target.Release())
	return err
}

// WantVersion reports an error unless the manifest requests the stage's version.
func (s *Stage) WantVersion(t *testing.T) {
	t.Helper()
	_, target, err := s.Operator(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	runs, mode, err := target.Runs(t.Context())
	if err != nil || !runs.Same(target.Release()) || mode != installer.Serve {
		t.Errorf("got %s in mode %s and %v, want %s that serves", runs, mode, err, target.Release())
	}
}

// Plan returns the steps that up would change, without the unchanged ones.
func (s *Stage) Plan(t *testing.T) []string {
	t.Helper()
	in, _, err := s.Operator(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := in.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ListChanges(p)
}

// ListChanges returns the steps of a plan that change something or are refused, with their
// differences.
func ListChanges(p plan.Plan) []string {
	out := []string{}
	for _, step := range p.Steps {
		if !step.Verb.Changes() && step.Verb != plan.Refuse {
			continue
		}
		line := string(step.Verb) + " " + step.ID
		for _, d := range step.Diff {
			line += fmt.Sprintf("; %s: %s → %s", d.Path, d.Have, d.Want)
		}
		out = append(out, line)
	}
	return out
}

// WantNothingToDo reports an error if the plan changes something.
func (s *Stage) WantNothingToDo(t *testing.T) {
	t.Helper()
	if got := s.Plan(t); len(got) > 0 {
		t.Errorf("got a plan with something to do, want none:\n%s", strings.Join(got, "\n"))
	}
}

// ComesAndGoes creates the cluster and deletes it with its data, in a cloud whose lists are
// consistent after settle.
func (s *Stage) ComesAndGoes(t *testing.T, settle time.Duration) {
	t.Helper()
	if err := s.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(settle) //nolint:forbidigo // synctest's clock
	s.WantNothingToDo(t)
	r, err := s.Down(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Left) > 0 {
		t.Errorf("got left %v", r.Left)
	}
}

// DownWhileHeld deletes the cluster while a foreign machine uses part of it, and returns the error. The
// command does not wait for a machine that nothing deletes.
func (s *Stage) DownWhileHeld(t *testing.T) error {
	t.Helper()
	began := time.Now()
	_, err := s.Down(t.Context(), true)
	if err == nil {
		t.Fatal("got no error, want what holds it")
	}
	if took := time.Since(began); took > 2*time.Minute {
		t.Errorf("the command took %s, want at most two minutes", took)
	}
	return err
}
