package plan_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/test/golden"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// thing is a resource whose Find returns the given state.
type thing struct {
	id    string
	needs []string
	found resource.Found
	drift []resource.Drift
	err   error
}

func (t thing) ID() string                   { return t.id }
func (t thing) Kind() string                 { return strings.Split(t.id, "/")[1] }
func (t thing) Needs() []string              { return t.needs }
func (t thing) Create(context.Context) error { panic("planning must not create") }
func (t thing) Delete(context.Context) error { panic("planning must not delete") }

func (t thing) Find(context.Context) (resource.Found, []resource.Drift, error) {
	return t.found, t.drift, t.err
}

// pliable can be updated.
type pliable struct{ thing }

func (pliable) Update(context.Context, []resource.Drift) error { panic("planning must not update") }

type target struct {
	inventory []resource.Found
	err       error
}

func (t target) Inventory(context.Context, string) ([]resource.Found, error) {
	return t.inventory, t.err
}
func (target) Kinds() []string                              { return []string{"net", "disk", "vm"} }
func (target) Remove(context.Context, resource.Found) error { panic("planning must not remove") }

var (
	net1  = resource.Found{Kind: "net", ID: "net-1", Name: "main"}
	disk1 = resource.Found{Kind: "disk", ID: "disk-1", Name: "data", Retain: "holds the database"}
	vm1   = resource.Found{Kind: "vm", ID: "vm-1", Name: "master"}
	vm2   = resource.Found{Kind: "vm", ID: "vm-2", Name: "old"}
	vm3   = resource.Found{Kind: "vm", ID: "vm-3", Name: "agent", Launched: true}
	odd   = resource.Found{Kind: "address", ID: "a-1"}

	size = resource.Drift{Path: "size", Have: "100", Want: "200"}
	zone = resource.Drift{Path: "zone", Have: "a", Want: "b", Replace: true}
)

func apart(f resource.Found) resource.Found {
	f.Apart = true
	return f
}

func TestCompute(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		req  plan.Request
		want []string
	}{
		{
			"nothing exists, order of need with ties by ID",
			plan.Request{Wanted: []resource.Resource{
				thing{id: "x/vm/b", needs: []string{"x/net/z"}},
				thing{id: "x/vm/a", needs: []string{"x/net/z"}},
				thing{id: "x/net/z"},
			}},
			[]string{"create x/net/z", "create x/vm/a", "create x/vm/b"},
		},
		{
			"everything is as wanted",
			plan.Request{Wanted: []resource.Resource{thing{id: "x/net/z", found: net1}}, Target: target{inventory: []resource.Found{net1}}},
			[]string{"keep x/net/z"},
		},
		{
			"drift in what can be updated",
			plan.Request{Wanted: []resource.Resource{pliable{thing{id: "x/disk/d", found: disk1, drift: []resource.Drift{size}}}}},
			[]string{"update x/disk/d"},
		},
		{
			"drift in what can be neither updated nor replaced is refused",
			plan.Request{Wanted: []resource.Resource{thing{id: "x/disk/d", found: disk1, drift: []resource.Drift{size}}}},
			[]string{"refuse x/disk/d"},
		},
		{
			"drift that asks for replacing takes along what refers to it",
			plan.Request{Wanted: []resource.Resource{
				thing{id: "x/net/z", found: net1, drift: []resource.Drift{zone}},
				thing{id: "x/vm/a", needs: []string{"x/net/z"}, found: vm1},
				thing{id: "x/vm/b", needs: []string{"x/net/z"}},
			}},
			[]string{"replace x/net/z", "replace x/vm/a", "create x/vm/b"},
		},
		{
			"data is not replaced",
			plan.Request{Wanted: []resource.Resource{pliable{thing{id: "x/disk/d", found: disk1, drift: []resource.Drift{zone}}}}},
			[]string{"refuse x/disk/d"},
		},
		{
			"data is replaced when its deletion was asked for",
			plan.Request{DeleteData: true, Wanted: []resource.Resource{pliable{thing{id: "x/disk/d", found: disk1, drift: []resource.Drift{zone}}}}},
			[]string{"replace x/disk/d"},
		},
		{
			"unwanted objects are deleted, except data and launched machines",
			plan.Request{
				Wanted: []resource.Resource{thing{id: "x/vm/a", found: vm1}},
				Target: target{inventory: []resource.Found{net1, disk1, vm1, vm2, vm3}},
			},
			[]string{"keep x/vm/a", "keep vm/vm-3", "delete vm/vm-2", "keep disk/disk-1", "delete net/net-1 after vm/vm-2"},
		},
		{
			"unwanted objects are deleted after creations",
			plan.Request{
				Wanted: []resource.Resource{thing{id: "x/vm/a"}},
				Target: target{inventory: []resource.Found{vm2}},
			},
			[]string{"create x/vm/a", "delete vm/vm-2 after x/vm/a"},
		},
		{
			"down takes all but data, against the order of kinds, unknown kinds first",
			plan.Request{Down: true, Target: target{inventory: []resource.Found{net1, disk1, vm1, vm3, odd}}},
			[]string{"delete address/a-1", "delete vm/vm-3 after address/a-1", "delete vm/vm-1 after address/a-1", "keep disk/disk-1", "delete net/net-1 after vm/vm-3 vm/vm-1"},
		},
		{
			"kinds that are apart wait only for such kinds",
			plan.Request{Down: true, DeleteData: true, Target: target{inventory: []resource.Found{apart(net1), disk1, apart(vm1)}}},
			[]string{"delete vm/vm-1", "delete disk/disk-1", "delete net/net-1 after vm/vm-1"},
		},
		{
			"down takes data when asked to",
			plan.Request{Down: true, DeleteData: true, Target: target{inventory: []resource.Found{disk1}}},
			[]string{"delete disk/disk-1"},
		},
		{
			"down takes what only a look by name shows",
			plan.Request{Down: true, Wanted: []resource.Resource{thing{id: "x/net/z", found: net1}, thing{id: "x/vm/a"}}},
			[]string{"delete net/net-1"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.req.Cluster = "lab"
			if tc.req.Target == nil {
				tc.req.Target = target{}
			}
			p, err := plan.Compute(t.Context(), tc.req)
			if err != nil {
				t.Fatalf("got %v, want nil", err)
			}
			var got []string
			for _, s := range p.Steps {
				line := string(s.Verb) + " " + s.ID
				if s.Resource == nil && len(s.Needs) > 0 {
					line += " after " + strings.Join(s.Needs, " ")
				}
				got = append(got, line)
			}
			if d := cmp.Diff(got, tc.want); d != "" {
				t.Errorf("got -, want +:\n%s", d)
			}
		})
	}
}

func TestComputeRejectsCycles(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		wanted []resource.Resource
		want   string
	}{
		{
			"a cycle is drawn",
			[]resource.Resource{
				thing{id: "x/a/1", needs: []string{"x/b/1"}},
				thing{id: "x/b/1", needs: []string{"x/c/1"}},
				thing{id: "x/c/1", needs: []string{"x/b/1"}},
			},
			"plan x/b/1: needs itself: x/b/1 → x/c/1 → x/b/1",
		},
		{
			"doubles and unfilled needs come together",
			[]resource.Resource{thing{id: "x/a/1"}, thing{id: "x/a/1"}, thing{id: "x/b/1", needs: []string{"x/z/1"}}},
			"plan x/a/1: wanted twice\nplan x/b/1: needs x/z/1, which is not wanted",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := plan.Compute(t.Context(), plan.Request{Cluster: "lab", Wanted: tc.wanted, Target: target{}})
			if err == nil || err.Error() != tc.want {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestComputeJoinsErrors(t *testing.T) {
	t.Parallel()
	errA, errB, errList := errors.New("a"), errors.New("b"), errors.New("list")
	_, err := plan.Compute(t.Context(), plan.Request{
		Cluster: "lab",
		Wanted: []resource.Resource{
			thing{id: "x/a/1", err: errA},
			thing{id: "x/a/2", needs: []string{"x/a/1"}},
			thing{id: "x/b/1", err: errB},
		},
		Target: target{err: errList},
	})
	for _, want := range []error{errA, errB, errList} {
		if !errors.Is(err, want) {
			t.Errorf("got %v, want it to hold %v", err, want)
		}
	}
}

func TestComputeStopsWhenCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := plan.Compute(ctx, plan.Request{Cluster: "lab", Wanted: []resource.Resource{thing{id: "x/a/1"}}, Target: target{}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func mixed(t *testing.T) plan.Plan {
	t.Helper()
	p, err := plan.Compute(t.Context(), plan.Request{
		Cluster: "lab",
		Wanted: []resource.Resource{
			thing{id: "x/net/main", found: net1},
			thing{id: "x/net/side"},
			pliable{thing{id: "x/disk/data", found: disk1, drift: []resource.Drift{size}}},
			thing{id: "x/vm/master", needs: []string{"x/net/main"}, found: vm1, drift: []resource.Drift{zone, {Path: "key", Want: "k"}}},
			thing{id: "x/vm/odd", found: odd, drift: []resource.Drift{size}},
		},
		Target: target{inventory: []resource.Found{net1, disk1, vm1, vm2, vm3}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRenderGolden(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	if err := mixed(t).Render(&text); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/mixed.golden", text.String())
	b, err := json.MarshalIndent(mixed(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/mixed.json.golden", string(b)+"\n")
}

func TestRenderFolded(t *testing.T) {
	t.Parallel()
	p := mixed(t)
	for range 30 {
		for _, kind := range []string{"net", "disk", "a-kind-with-a-long-name", "another-kind-with-a-long-name", "vm"} {
			p.Steps = append(p.Steps, plan.Step{Verb: plan.Delete, Found: resource.Found{Kind: kind, ID: "x"}, Reason: "belongs to the cluster"})
		}
	}
	var whole, folded, roomy strings.Builder
	if err := errors.Join(p.Render(&whole), p.RenderFolded(&folded, 24), p.RenderFolded(&roomy, 1000)); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/folded.golden", folded.String())
	if roomy.String() != whole.String() {
		t.Errorf("got %q, want all steps where they fit", roomy.String())
	}
}

func TestRenderBoundsDetails(t *testing.T) {
	t.Parallel()
	p := plan.Plan{Cluster: "lab", Steps: []plan.Step{{Verb: plan.Update, ID: "x", Reason: "differs", Diff: make([]resource.Drift, 40)}}}
	var b strings.Builder
	if err := p.Render(&b); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); strings.Count(got, "→") != 30 || !strings.Contains(got, "      and 10 more\n") {
		t.Errorf("got %q, want 30 details and the number of the others", got)
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	p := mixed(t)
	if !p.Same(mixed(t)) {
		t.Error("got two plans of one world that differ")
	}
	q := mixed(t)
	q.Steps[0].Reason = "another"
	if p.Same(q) {
		t.Error("got the same plan, want another reason to matter")
	}
	if p.Same(plan.Plan{Cluster: "lab"}) {
		t.Error("got the same plan, want a shorter one to differ")
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]plan.Plan{
		"nothing to do":            {},
		"nothing to do, 1 to keep": {Steps: []plan.Step{{Verb: plan.Keep}}},
		"2 to create, 1 to delete": {Steps: []plan.Step{{Verb: plan.Create}, {Verb: plan.Delete}, {Verb: plan.Create}}},
	} {
		if got := p.Summary(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
