package infra_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// platform is a fake platform whose objects have unique names and labels, and whose calls return an
// operation to wait for.
type platform struct {
	boxes  map[string]box
	polled int
}

type box struct {
	labels map[string]string
	size   string
	going  bool
}

type named struct {
	name string
	box
}

func (p *platform) kind() infra.Kind[named] {
	return infra.Kind[named]{
		Name: "box",
		// It ignores filters, as platforms may.
		List: func(context.Context, map[string]string) ([]named, error) {
			var out []named
			for name, b := range p.boxes {
				out = append(out, named{name, b})
			}
			return out, nil
		},
		Observe: func(n named) infra.Observed {
			return infra.Observed{Identity: n.name, Marks: n.labels, Deleting: n.going}
		},
		Delete: func(_ context.Context, id string) error {
			delete(p.boxes, id)
			return nil
		},
	}
}

// operation completes at the third poll.
func (p *platform) operation(ctx context.Context, w infra.Waiter, subject string) error {
	asked := 0
	return w.Await(ctx, subject, infra.ToAppear, func() (bool, error) {
		asked++
		p.polled++
		return asked > 2, nil
	})
}

// thing defines the wanted box.
type thing struct {
	at      *platform
	network infra.Ref
	size    string
	infra.Learned
}

func (b *thing) Define() infra.Definition[named] {
	return infra.Definition[named]{
		Kind: b.at.kind(), ID: "toy/box/main", Needs: infra.NeedsOf(b.network), Needed: []infra.Ref{b.network},
		Owner: map[string]string{"cluster": "lab"}, Mark: map[string]string{"resource": "main"}, Tags: map[string]string{"team": "vision"},
		Identity: &b.Learned,
		Found: func(kind string, o infra.Observed) resource.Found {
			return resource.Found{Kind: kind, ID: o.Identity, Name: o.Marks["resource"]}
		},
		Create: b.create,
		Retag: func(_ context.Context, id string, marks map[string]string) error {
			maps.Copy(b.at.boxes[id].labels, marks)
			return nil
		},
		Compare: func(_ context.Context, live named) ([]resource.Drift, error) {
			return infra.Differences(infra.Changeable("size", live.size, b.size)), nil
		},
		Change: func(context.Context, []resource.Drift) error {
			old := b.at.boxes[b.Identity()]
			old.size = b.size
			b.at.boxes[b.Identity()] = old
			return nil
		},
	}
}

func (b *thing) create(ctx context.Context, _ string) error {
	if _, ok := b.at.boxes["det-lab-main"]; ok {
		return &cloud.Error{Kind: cloud.Conflict, Op: "box.insert", Err: errors.New("exists")}
	}
	b.at.boxes["det-lab-main"] = box{labels: map[string]string{"cluster": "lab", "resource": "main", "team": "vision"}, size: b.size}
	b.Learn("det-lab-main")
	return b.at.operation(ctx, infra.Waiter{Pause: func(context.Context, time.Duration) error { return nil }}, "box det-lab-main")
}

var (
	_ resource.Resource  = (*infra.Object[named])(nil)
	_ resource.Updater   = (*infra.Object[named])(nil)
	_ resource.Described = (*infra.Object[named])(nil)
	_ resource.Adviser   = (*infra.Object[named])(nil)
	_ resource.Nonced    = (*infra.NoncedObject[named])(nil)
)

func TestNamedObjectLifecycle(t *testing.T) {
	t.Parallel()
	p := &platform{boxes: map[string]box{
		"det-lab-2-main": {labels: map[string]string{"cluster": "lab-2", "resource": "main"}},
		"det-lab-old":    {labels: map[string]string{"cluster": "lab", "resource": "main"}, going: true},
	}}
	want := &thing{at: p, network: infra.Existing("net-1"), size: "small"}
	o := infra.Named(want)
	if _, ok := any(o).(resource.Nonced); ok {
		t.Error("an object with a name is created under a nonce")
	}
	if found, _, err := o.Find(t.Context()); err != nil || found.Exists() {
		t.Fatalf("got %v and %v, want none: one is another cluster's, the other is on its way out", found, err)
	}
	for range 2 { // the second time as after a lost response
		if err := o.Create(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if p.polled != 3 {
		t.Errorf("got an operation that was asked for %d times, want 3", p.polled)
	}
	want.size = "large"
	delete(p.boxes["det-lab-main"].labels, "team")
	found, drift, err := o.Find(t.Context())
	if err != nil || found != (resource.Found{Kind: "box", ID: "det-lab-main", Name: "main"}) {
		t.Fatalf("got %v and %v", found, err)
	}
	wantDrift := []resource.Drift{{Path: "tags.team", Want: "vision"}, {Path: "size", Have: "small", Want: "large"}}
	if d := cmp.Diff(drift, wantDrift); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
	if err := o.Update(t.Context(), drift); err != nil {
		t.Fatal(err)
	}
	if _, drift, err = o.Find(t.Context()); err != nil || len(drift) > 0 {
		t.Errorf("got %v and %v after an update, want no drift", drift, err)
	}
	if err := o.Delete(t.Context()); err != nil || len(p.boxes) != 2 {
		t.Errorf("got %v and %v, want that only ours is gone", p.boxes, err)
	}
}

func TestCreateRejectsForeignObjectOfSameName(t *testing.T) {
	t.Parallel()
	p := &platform{boxes: map[string]box{"det-lab-main": {labels: map[string]string{"owner": "ann"}}}}
	o := infra.Named(&thing{at: p, network: infra.Existing("net-1")})
	if err := o.Create(t.Context()); cloud.KindOf(err) != cloud.Conflict {
		t.Errorf("got %v, want a conflict", err)
	}
}

func TestFindWaitsForNeeds(t *testing.T) {
	t.Parallel()
	p := &platform{boxes: map[string]box{"x": {labels: map[string]string{"cluster": "lab", "resource": "main"}}}}
	network := infra.Named(&thing{at: p, network: infra.Existing("net-1")})
	o := infra.Named(&thing{at: p, network: network})
	if found, _, err := o.Find(t.Context()); err != nil || found.Exists() {
		t.Errorf("got %v and %v, want none before its network is known", found, err)
	}
	if d := cmp.Diff(o.Needs(), []string{"toy/box/main"}); d != "" {
		t.Error(d)
	}
	if got := infra.NameOf(network); got != "toy/box/main" {
		t.Errorf("got %q, want the resource's name while its identity is not known", got)
	}
	if _, _, err := network.Find(t.Context()); err != nil || infra.NameOf(network) != "x" {
		t.Errorf("got %q and %v, want its identity", infra.NameOf(network), err)
	}
}

func TestInventoryFailsIfAKindCannotBeListed(t *testing.T) {
	t.Parallel()
	one := infra.Listed{Kind: "box", List: func(context.Context) ([]resource.Found, error) { return []resource.Found{{Kind: "box", ID: "1"}}, nil }}
	bad := infra.Listed{Kind: "bag", List: func(context.Context) ([]resource.Found, error) { return nil, errors.New("a zone is out of reach") }}
	if fs, err := (infra.Inventory{one, bad}).List(t.Context()); err == nil || len(fs) > 0 || !strings.Contains(err.Error(), "list each bag: a zone") {
		t.Errorf("got %v and %v, want an error and nothing that could be taken for the whole", fs, err)
	}
	if fs, err := (infra.Inventory{one, one}).List(t.Context()); err != nil || len(fs) != 2 {
		t.Errorf("got %v and %v, want both", fs, err)
	}
}

func TestWaitErrorHasLimitAndLastError(t *testing.T) {
	t.Parallel()
	var waited time.Duration
	w := infra.Waiter{Pause: func(_ context.Context, d time.Duration) error {
		waited += d
		return nil
	}}
	refused := &cloud.Error{Kind: cloud.Conflict, Op: "box.delete", Err: errors.New("in use")}
	err := w.RetryWhileInUse(t.Context(), "box-1", func() error { return refused })
	if e, ok := errors.AsType[*infra.WaitError](err); !ok || e.Limit != infra.ToBeFree.Max || !errors.Is(err, refused) || e.Hint() == "" {
		t.Errorf("got %v, want that it is still in use", err)
	}
	if waited < infra.ToBeFree.Max {
		t.Errorf("got %s of waiting, want at least %s", waited, infra.ToBeFree.Max)
	}
	gone := &cloud.Error{Kind: cloud.NotFound}
	if err := w.RetryWhileInUse(t.Context(), "box-1", func() error { return gone }); err != nil {
		t.Errorf("got %v, want that gone is fine", err)
	}
	if err := w.LookUpListed(t.Context(), "box-1", func() error { return gone }); !errors.Is(err, gone) {
		t.Errorf("got %v, want the platform's own answer", err)
	}
}
