package apply

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/plan"
)

// journal waits for let before it stores intents, and then returns err.
type journal struct {
	let chan struct{}
	err error
}

func (j journal) Intend(_ context.Context, ids ...string) (map[string]resource.Intent, error) {
	<-j.let
	out := make(map[string]resource.Intent)
	for _, id := range ids {
		out[id] = resource.Intent{Nonce: "n"}
	}
	return out, j.err
}

func (j journal) Renew(context.Context, ...string) (map[string]resource.Intent, error) {
	return nil, nil
}
func (journal) Settle(context.Context, ...string) error { return nil }
func (journal) Forget(context.Context, ...string) error { return nil }

// thing has a fixed name; nameless is created under a nonce.
type thing struct {
	resource.Resource

	id   string
	made func(id string)
}

func (t thing) ID() string                   { return t.id }
func (t thing) Create(context.Context) error { t.made(t.id); return nil }

type nameless struct{ thing }

func (n nameless) CreateOnce(context.Context, string) error { n.made(n.id); return nil }

func (nameless) Made(context.Context, string) ([]resource.Found, error) { return nil, nil }

// runBesideIntents applies a plan of a named and a nameless resource and returns the IDs it
// created. The intents are stored only after the named one is created.
func runBesideIntents(t *testing.T, err error) ([]string, error) {
	t.Helper()
	j := journal{let: make(chan struct{}), err: err}
	var mu sync.Mutex // guards made
	var made []string
	note := func(id string) {
		mu.Lock()
		defer mu.Unlock()
		if made = append(made, id); id == "named" {
			close(j.let)
		}
	}
	runErr := Run(t.Context(), plan.Plan{Steps: []plan.Step{
		{Verb: plan.Create, ID: "nameless", Resource: nameless{thing{id: "nameless", made: note}}},
		{Verb: plan.Create, ID: "named", Resource: thing{id: "named", made: note}},
	}}, Config{Journal: j})
	return made, runErr
}

// A resource with a fixed name is created before the intents are stored; others are not.
func TestOnlyNamelessResourcesWaitForIntents(t *testing.T) {
	t.Parallel()
	made, err := runBesideIntents(t, nil)
	if err != nil || !slices.Equal(made, []string{"named", "nameless"}) {
		t.Errorf("got %v and %v, want what has a name first", made, err)
	}
}

func TestNamelessResourcesNeedIntents(t *testing.T) {
	t.Parallel()
	refused := errors.New("the record cannot be written")
	made, err := runBesideIntents(t, refused)
	var e *Error
	if !errors.Is(err, refused) || !errors.As(err, &e) || e.Left != 1 || !slices.Equal(made, []string{"named"}) {
		t.Errorf("got %v and %v, want one step left, for the record", made, err)
	}
}

// Later is called once, after all steps.
func TestIntentsAreSettledLater(t *testing.T) {
	t.Parallel()
	j := journal{let: make(chan struct{})}
	close(j.let)
	var later func() error
	p := plan.Plan{Steps: []plan.Step{{Verb: plan.Create, ID: "nameless", Resource: nameless{thing{id: "nameless", made: func(string) {}}}}}}
	if err := Run(t.Context(), p, Config{Journal: j, Later: func(settle func() error) { later = settle }}); err != nil || later == nil {
		t.Fatalf("got %v, want the remaining function", err)
	}
	if err := later(); err != nil {
		t.Error(err)
	}
}
