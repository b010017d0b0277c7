package installer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/apply"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/record"
	recordtest "github.com/det-deploy/det-deploy/test/contract/record"
	cloudtest "github.com/det-deploy/det-deploy/test/fake/cloud"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// deployment is cloudtest's target without checks, and ready at once.
type deployment struct{ *cloudtest.Target }

func (deployment) Checks() []doctor.Check                    { return nil }
func (deployment) Ready(context.Context, func(string)) error { return nil }

// stage is a world, its record, and the number of requested machines.
type stage struct {
	world    *cloudtest.World
	store    *recordtest.Memory
	machines int
	size     string
	zone     string
	dead     func(record.Holder) bool
}

func newStage() *stage {
	w := new(cloudtest.World)
	return &stage{world: w, store: &recordtest.Memory{Before: w.Store}, machines: 2, size: "100", zone: "a"}
}

// operator returns an installer as a new process of that user.
func (s *stage) operator(who string) *installer.Installer {
	gate := new(resource.Gate)
	return &installer.Installer{
		Cluster: "lab", Platform: "test",
		Settings: map[string]string{"machines": fmt.Sprint(s.machines)},
		Deployment: deployment{&cloudtest.Target{
			World: s.world, Gate: gate, Cluster: "lab", Machines: s.machines, Size: s.size, Zone: s.zone,
		}},
		Store: s.store, Gate: gate,
		Holder: record.Holder{Owner: who, Host: "h", Nonce: who}, Dead: s.dead,
		Apply: apply.Config{Settle: 10 * time.Second},
	}
}

func (s *stage) up(ctx context.Context) error {
	in := s.operator("ann")
	p, err := in.Plan(ctx)
	if err != nil {
		return err
	}
	return in.Up(ctx, p)
}

func (s *stage) down(ctx context.Context, deleteData bool) (installer.Receipt, error) {
	in := s.operator("ann")
	p, err := in.PlanDown(ctx, deleteData)
	if err != nil {
		return installer.Receipt{}, err
	}
	return in.Down(ctx, p, deleteData)
}

// resume lets the next operator take over the lease of a killed one at once, while lists still lag.
func (s *stage) resume() {
	s.world.Revive()
	s.dead = func(record.Holder) bool { return true }
}

var whole = []string{"bucket/lab-data", "machine/a", "machine/b", "network/main", "role/lab-master", "subnet/a"}

func wantLive(t *testing.T, s *stage, want []string) {
	t.Helper()
	if d := cmp.Diff(s.world.Live(), want); d != "" {
		t.Errorf("exists: got -, want +:\n%s", d)
	}
}

func wantNothingToDo(t *testing.T, s *stage) {
	t.Helper()
	p, err := s.operator("ann").Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !p.Empty() {
		var b strings.Builder
		_ = p.Render(&b) // a strings.Builder never returns an error
		t.Errorf("got a plan with something to do, want none:\n%s", b.String())
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bubble runs a test in a synctest bubble.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

func TestUpThenThePlanIsEmpty(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage()
		must(t, s.up(t.Context()))
		wantLive(t, s, whole)
		wantNothingToDo(t, s)
	})
}

func TestChangesAreMadeAndThenThePlanIsEmpty(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*stage)
		want   []string
	}{
		{"in place", func(s *stage) { s.size = "200" }, whole},
		{"by replacing a network and all that is in it", func(s *stage) { s.zone = "b" }, whole},
		{"one machine fewer", func(s *stage) { s.machines = 1 }, slices.DeleteFunc(slices.Clone(whole), func(o string) bool { return o == "machine/b" })},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := newStage()
				must(t, s.up(t.Context()))
				tc.change(s)
				must(t, s.up(t.Context()))
				wantLive(t, s, tc.want)
				wantNothingToDo(t, s)
			})
		})
	}
}

// calls returns the number of changing calls of f in a world without faults.
func calls(t *testing.T, prepare, f func(*stage, context.Context) error) int {
	t.Helper()
	n := 0
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		must(t, prepare(s, t.Context()))
		before := s.world.Calls()
		must(t, f(s, t.Context()))
		n = s.world.Calls() - before
	})
	return n
}

// Whichever call fails, a second run of the command finishes: nothing is missing or duplicated, and
// `down` deletes everything.
func TestResumesAfterAnyFaultAtEveryCall(t *testing.T) {
	t.Parallel()
	for _, flow := range []struct {
		name    string
		prepare func(*stage, context.Context) error
		run     func(*stage, context.Context) error
		want    []string
	}{
		{"up", (*stage).nothing, (*stage).up, whole},
		{"replace", (*stage).up, (*stage).rezone, whole},
		{"down", (*stage).up, (*stage).downAll, nil},
	} {
		n := calls(t, flow.prepare, flow.run)
		for _, fault := range cloudtest.Faults() {
			for _, lag := range []time.Duration{0, 5 * time.Second} {
				for i := 1; i <= n; i++ {
					t.Run(fmt.Sprintf("%s: %s at call %d, lists lag %s", flow.name, fault, i, lag), func(t *testing.T) {
						bubble(t, func(t *testing.T) {
							s := newStage()
							must(t, flow.prepare(s, t.Context()))
							time.Sleep(lag) //nolint:forbidigo // synctest's clock
							s.world.Lag = lag
							s.world.FailAt(s.world.Calls()+i, fault)
							first := flow.run(s, t.Context())
							s.resume()
							must(t, flow.run(s, t.Context()))
							wantLive(t, s, flow.want)
							if flow.want != nil {
								time.Sleep(lag) //nolint:forbidigo // synctest's clock
								wantNothingToDo(t, s)
							}
							if first != nil && !errors.Is(first, faults.ErrInjected) && flow.name != "down" {
								t.Errorf("first run: got %v, want the injected failure", first)
							}
							_, err := s.down(t.Context(), true)
							must(t, err)
							wantLive(t, s, nil)
							if s.store.Exists() {
								t.Error("the record is still there after down")
							}
						})
					})
				}
			}
		}
	}
}

func (*stage) nothing(context.Context) error { return nil }

func (s *stage) rezone(ctx context.Context) error {
	s.zone = "b"
	return s.up(ctx)
}

func (s *stage) downAll(ctx context.Context) error {
	_, err := s.down(ctx, true)
	return err
}

// `down` deletes everything that an interrupted `up` has created, although lists still lag.
func TestDownDeletesIncompleteCluster(t *testing.T) {
	t.Parallel()
	n := calls(t, (*stage).nothing, (*stage).up)
	for _, fault := range []faults.Fault{faults.KillBefore, faults.KillAfter} {
		for i := 1; i <= n; i++ {
			t.Run(fmt.Sprintf("%s call %d", fault, i), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					s := newStage()
					s.world.Lag = 5 * time.Second
					s.world.FailAt(i, fault)
					_ = s.up(t.Context()) // it has to fail
					s.resume()
					_, err := s.down(t.Context(), true)
					must(t, err)
					wantLive(t, s, nil)
				})
			})
		}
	}
}

func TestDownKeepsDataWithReasons(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage()
		must(t, s.up(t.Context()))
		r, err := s.down(t.Context(), false)
		must(t, err)
		wantLive(t, s, []string{"bucket/lab-data"})
		if len(r.Removed) != 5 || len(r.Kept) != 2 || r.Kept[0].Retain != "holds the checkpoints" || len(r.Left) != 0 {
			t.Errorf("got %+v, want 5 removed, the bucket kept with its reason and the settings, none left", r)
		}
		must(t, s.up(t.Context()))
		wantLive(t, s, whole)
	})
}

// Down does not wait for objects that it deleted itself to appear.
func TestDownDoesNotWaitForDeletedObjects(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage()
		must(t, s.up(t.Context()))
		began := time.Now()
		_, err := s.down(t.Context(), true)
		must(t, err)
		if took := time.Since(began); took >= 5*time.Second {
			t.Errorf("took %s in a world that answers at once", took)
		}
	})
}

func TestDownTwice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage()
		must(t, s.up(t.Context()))
		for range 2 {
			_, err := s.down(t.Context(), true)
			must(t, err)
			wantLive(t, s, nil)
		}
	})
}

func TestLaunchedMachinesAreKeptByUpAndDeletedByDown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage()
		must(t, s.up(t.Context()))
		_, err := s.world.Create(t.Context(), cloudtest.Object{
			Kind: "machine", Tags: map[string]string{"det-deploy-cluster": "lab", "launched": "yes", "name": "gpu"},
		})
		must(t, err)
		_, err = s.world.Create(t.Context(), cloudtest.Object{
			Kind: "machine", Tags: map[string]string{"det-deploy-cluster": "other", "name": "foreign"},
		})
		must(t, err)
		wantNothingToDo(t, s)
		_, err = s.down(t.Context(), true)
		must(t, err)
		wantLive(t, s, []string{"machine/foreign"})
	})
}

func TestUpWithLostRecord(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage()
		must(t, s.up(t.Context()))
		must(t, s.store.Destroy(t.Context()))
		s.machines = 3
		must(t, s.up(t.Context()))
		if got := len(s.world.Live()); got != len(whole)+1 {
			t.Errorf("got %d objects, want one machine more and nothing twice", got)
		}
	})
}

func TestTwoOperatorsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage()
		ann, bob := s.operator("ann"), s.operator("bob")
		p, err := ann.Plan(t.Context())
		must(t, err)
		outcomes := make(chan error, 2)
		for _, in := range []*installer.Installer{ann, bob} { // who confirmed the same plan
			go func() { outcomes <- in.Up(t.Context(), p) }()
		}
		won := 0
		for range 2 {
			err := <-outcomes
			_, held := errors.AsType[*record.HeldError](err)
			switch {
			case err == nil:
				won++
			case !held && !errors.Is(err, installer.ErrPlanChanged):
				t.Errorf("got %v, want that the other is at work, or was", err)
			}
		}
		if won != 1 {
			t.Errorf("got %d that went through, want 1", won)
		}
		wantLive(t, s, whole)
	})
}

func TestUpFailsIfThePlanHasChanged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage()
		in := s.operator("ann")
		p, err := in.Plan(t.Context())
		must(t, err)
		must(t, s.up(t.Context()))
		if err := in.Up(t.Context(), p); !errors.Is(err, installer.ErrPlanChanged) {
			t.Errorf("got %v, want %v", err, installer.ErrPlanChanged)
		}
		wantLive(t, s, whole)
	})
}

func TestPlanningChangesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage()
		in := s.operator("ann")
		_, err := in.Plan(t.Context())
		must(t, err)
		_, err = in.PlanDown(t.Context(), true)
		must(t, err)
		if got := s.world.Calls(); got != 0 {
			t.Errorf("got %d changing calls, want none", got)
		}
		// The gate also rejects changes of a resource.
		wanted, err := in.Deployment.Wanted()
		must(t, err)
		bucket := wanted[slices.IndexFunc(wanted, func(r resource.Resource) bool { return r.Kind() == "bucket" })]
		if err := bucket.Create(t.Context()); !errors.Is(err, resource.ErrReadOnly) {
			t.Errorf("got %v, want %v", err, resource.ErrReadOnly)
		}
		wantLive(t, s, nil)
	})
}

func TestCancellationFinishesRunningSteps(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage()
		in := s.operator("ann")
		in.Apply.Parallel = 1
		p, err := in.Plan(t.Context())
		must(t, err)
		if p.Count(plan.Create) != 6 {
			t.Fatalf("got %d to create, want 6", p.Count(plan.Create))
		}
		ctx, cancel := context.WithCancel(t.Context())
		in.Emit = cancelAt("test/network/main", cancel)
		err = in.Up(ctx, p)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
		if failed, ok := errors.AsType[*apply.Error](err); !ok || failed.Left == 0 || failed.Left == failed.Total {
			t.Errorf("got %v, want some steps left", err)
		}
		if !slices.Contains(s.world.Live(), "network/main") {
			t.Error("the step in hand was not finished")
		}
		must(t, s.up(t.Context())) // the lease was released: no waiting
		wantLive(t, s, whole)
	})
}

func cancelAt(subject string, cancel func()) event.Sink {
	return func(e event.Event) {
		if e.Subject == subject && e.Type == event.Started {
			cancel()
		}
	}
}
