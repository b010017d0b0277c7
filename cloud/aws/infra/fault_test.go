package infra_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/apply"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
	"github.com/det-deploy/det-deploy/test/rest"
)

// flow is an operation that may be interrupted at any API call.
type flow struct {
	name    string
	prepare func(*memory, context.Context) error
	run     func(*memory, context.Context) error
	want    []string
}

func flows() []flow {
	nothing := func(*memory, context.Context) error { return nil }
	up := func(m *memory, ctx context.Context) error { return m.up(ctx) }
	return []flow{
		{"up", nothing, up, whole},
		{"update", up, func(m *memory, ctx context.Context) error {
			m.wish.inbound, m.wish.days, m.wish.policy, m.wish.versioning = "198.51.100.0/24", 7, "ec2:RunInstances", true
			m.wish.volumeGiB, m.wish.machine, m.wish.tags = 200, "m6i.xlarge", map[string]string{"team": "vision"}
			return m.up(ctx)
		}, whole},
		{"replace", up, func(m *memory, ctx context.Context) error {
			m.wish.cidr = "10.64.0.0/16"
			return m.up(ctx)
		}, whole},
		{"down", up, (*memory).downAll, nil},
	}
}

// calls returns the number of API calls of a flow without faults: all, and the modifying ones.
func (f flow) calls(t *testing.T) (all, changes int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := inMemory(awstest.Options{})
		must(t, f.prepare(m, t.Context()))
		before, beforeChanges := m.world.Calls(), m.world.Changes()
		must(t, f.run(m, t.Context()))
		all, changes = m.world.Calls()-before, m.world.Changes()-beforeChanges
	})
	return all, changes
}

// After any fault at any call, re-running the command completes it: no object is missing or
// duplicated, and down deletes everything.
func TestResumesAfterAnyFaultAtEveryCall(t *testing.T) {
	t.Parallel()
	rest.Only(t)
	k := 0
	for _, f := range flows() {
		all, changes := f.calls(t)
		t.Logf("%s: %d calls, %d of them change something", f.name, all, changes)
		for name, world := range worlds() {
			for _, fault := range faults.All() {
				n := changes
				if fault == faults.Stale {
					n = all
				}
				for i := 1; i <= n; i++ {
					if k++; skipped(k) {
						continue
					}
					t.Run(fmt.Sprintf("%s: %s at %d, %s", f.name, fault, i, name), func(t *testing.T) {
						bubble(t, func(t *testing.T) {
							f.resumes(t, world, fault, func(w *awstest.World) {
								if fault == faults.Stale {
									w.FailAt(w.Calls()+i, fault)
								} else {
									w.FailChange(w.Changes()+i, fault)
								}
							})
						})
					})
				}
			}
		}
	}
}

// skipped reports whether a case is skipped. `make faults` runs all four thousand.
func skipped(k int) bool {
	return k%faults.Stride(61) != 0
}

// The same after the faults that leave most behind, once for each operation that creates or changes
// what an up needs.
func TestResumesAfterALostReplyOfEachOperation(t *testing.T) {
	t.Parallel()
	up := flows()[0]
	var ops []string
	synctest.Test(t, func(t *testing.T) {
		m := inMemory(awstest.Options{})
		must(t, m.up(t.Context()))
		for _, call := range m.world.Journal() {
			if call.Changes && !slices.Contains(ops, call.Op) {
				ops = append(ops, call.Op)
			}
		}
	})
	for _, op := range ops {
		for _, fault := range []faults.Fault{faults.LoseReply, faults.KillAfter} {
			t.Run(fmt.Sprintf("%s at %s", fault, op), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					up.resumes(t, awstest.Options{}, fault, func(w *awstest.World) { w.FailOp(op, fault) })
				})
			})
		}
	}
}

// resumes runs f with one fault, which fail injects, and then again without.
func (f flow) resumes(t *testing.T, world awstest.Options, fault faults.Fault, fail func(*awstest.World)) {
	m := inMemory(world)
	before := m.world.Live()
	must(t, f.prepare(m, t.Context()))
	m.settleDown()
	fail(m.world)
	first := f.run(m, t.Context())
	if first == nil {
		m.settleDown()
		f.wantWhole(t, m)
	}
	m.resume()
	must(t, m.patiently(t.Context(), f.run))
	m.settleDown()
	f.wantWhole(t, m)
	if first != nil && fault != faults.Stale && !injected(first) {
		t.Errorf("first run: got %v, want the injected failure", first)
	}
	must(t, m.downAll(t.Context()))
	if d := cmp.Diff(m.world.Live(), before); d != "" {
		t.Errorf("left behind: got -, want +:\n%s", d)
	}
}

// wantWhole compares the objects with those that f leaves.
func (f flow) wantWhole(t *testing.T, m *memory) {
	t.Helper()
	if f.want == nil {
		return
	}
	m.wantNothingToDo(t)
	if d := cmp.Diff(m.live(t), f.want); d != "" {
		t.Errorf("inventory: got -, want +:\n%s", d)
	}
}

// patiently re-runs the command as its error advises: while lists are stale, the plan computed
// under the lock may differ from the approved one.
func (m *memory) patiently(ctx context.Context, run func(*memory, context.Context) error) error {
	var err error
	for range 3 {
		if err = run(m, ctx); !errors.Is(err, installer.ErrPlanChanged) {
			return err
		}
	}
	return err
}

// injected reports whether an error is an injected fault or the failed apply that it caused.
func injected(err error) bool {
	_, applied := errors.AsType[*apply.Error](err)
	return applied || errors.Is(err, faults.ErrInjected)
}

// After an up was killed at any call, down deletes the cluster without another up and while lists
// are stale.
func TestDownDeletesPartialCluster(t *testing.T) {
	t.Parallel()
	rest.Only(t)
	_, changes := flows()[0].calls(t)
	for _, fault := range []faults.Fault{faults.KillBefore, faults.KillAfter} {
		for i := 1; i <= changes; i++ {
			if skipped(i) {
				continue
			}
			t.Run(fmt.Sprintf("%s call %d", fault, i), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					m := inMemory(awstest.Options{Lag: 5 * time.Second})
					before := m.world.Live()
					m.world.FailChange(i, fault)
					_ = m.up(t.Context()) // it is expected to fail
					m.resume()
					must(t, m.downAll(t.Context()))
					m.settleDown()
					if d := cmp.Diff(m.world.Live(), before); d != "" {
						t.Errorf("left behind: got -, want +:\n%s", d)
					}
				})
			})
		}
	}
}
