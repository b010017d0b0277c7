package installer

import (
	"context"
	"errors"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/record"
	recordtest "github.com/det-deploy/det-deploy/test/contract/record"
)

// Planning reads the record too and may fail on it first. The reported error must be the one that
// explains how to repair the record.
func TestRecordErrorTakesPrecedence(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := &session{action: "up", Installer: &Installer{
		Cluster: "lab", Platform: "test", Store: &recordtest.Memory{}, Gate: new(resource.Gate), Holder: record.Holder{Owner: "ann", Nonce: "1"},
	}}
	if err := s.takeLease(ctx); err != nil {
		t.Fatal(err)
	}
	defer s.releaseLease(ctx) //nolint:errcheck // of a store in memory
	book, err := record.Open(ctx, s.Store, s.lease, record.Record{Cluster: "lab", Target: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if err := book.Change(ctx, func(r *record.Record) { r.Upgrade = &record.Upgrade{} }); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("the platform does not answer")
	for name, look := range map[string]func(context.Context) (plan.Plan, error){
		"a look that fails":     func(context.Context) (plan.Plan, error) { return plan.Plan{}, failed },
		"a look that was ended": func(ctx context.Context) (plan.Plan, error) { <-ctx.Done(); return plan.Plan{}, ctx.Err() },
	} {
		_, err := s.comparePlans(ctx, plan.Plan{}, look)
		if _, ok := errors.AsType[*UnderWayError](err); !ok || errors.Is(err, failed) {
			t.Errorf("%s: got %v, want the upgrade that is under way", name, err)
		}
	}
}
