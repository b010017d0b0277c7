package infra_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
	"github.com/det-deploy/det-deploy/test/rest"
)

func foundOf(kind, id string) resource.Found { return resource.Found{Kind: kind, ID: id} }

// flow is an operation that may be interrupted at any API call.
type flow struct {
	name    string
	prepare func(*stage, context.Context) error
	run     func(*stage, context.Context) error
	want    []string
}

func flows() []flow {
	nothing := func(*stage, context.Context) error { return nil }
	return []flow{
		{"up", nothing, (*stage).up, whole},
		{"up in an existing network", (*stage).inExisting, (*stage).up, without("network/", "subnetwork/")},
		{"up in a shared network", (*stage).inShared, (*stage).up, inSharedNetwork()},
		{"down in a shared network", func(s *stage, ctx context.Context) error {
			if err := s.inShared(ctx); err != nil {
				return err
			}
			return s.up(ctx)
		}, (*stage).down, []string{}},
		{"update", (*stage).up, func(s *stage, ctx context.Context) error {
			s.wish.inbound, s.wish.labels, s.wish.disk = "198.51.100.0/24", map[string]string{"team": "vision"}, 200
			s.wish.outside, s.wish.cidr, s.wish.natPorts = "database db.example.com", "10.192.0.0/18", 128
			s.wish.permissions, s.wish.zones = []string{"compute.instances.get"}, []string{"us-central1-a", "us-central1-f"}
			return s.up(ctx)
		}, whole},
		{"machine", (*stage).up, func(s *stage, ctx context.Context) error {
			s.wish.machine, s.wish.rootGB, s.wish.tags = "n2-standard-4", 30, []string{"office"}
			s.wish.metadata = map[string]string{"enable-oslogin": "TRUE"}
			return s.up(ctx)
		}, whole},
		{"replace", (*stage).up, func(s *stage, ctx context.Context) error {
			s.wish.noAddress = true
			return s.up(ctx)
		}, whole},
		{"password", (*stage).up, func(s *stage, ctx context.Context) error {
			s.wish.password = "tops3cret"
			return s.up(ctx)
		}, whole},
		{"down", (*stage).up, (*stage).down, []string{}},
	}
}

// without returns the complete inventory without some kinds.
func without(kinds ...string) []string {
	return slices.DeleteFunc(slices.Clone(whole), func(name string) bool {
		return slices.ContainsFunc(kinds, func(k string) bool { return strings.HasPrefix(name, k) })
	})
}

// inExisting uses an existing network of the project.
func (s *stage) inExisting(context.Context) error {
	s.wish.existing = "default"
	return nil
}

// inShared uses the Shared VPC network of a host project.
func (s *stage) inShared(context.Context) error {
	s.world.AddProject("net-host", 99)
	s.wish.onShared, s.wish.nat = sharedSubnetwork, false
	return nil
}

const sharedSubnetwork = "net-host/default"

// inSharedNetwork returns the complete inventory of a cluster in a Shared VPC network.
func inSharedNetwork() []string {
	out := without("network/", "subnetwork/", "firewall-rule/", "router/")
	i := slices.Index(out, "secret/det-deploy-lab-admin-password")
	return slices.Insert(out, i, "role-binding/subnetwork/net-host/default det-a-lab", "role-binding/subnetwork/net-host/default det-m-lab")
}

// calls returns the number of API calls of a flow without faults: all, and the modifying ones.
func (f flow) calls(t *testing.T) (all, changes int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, gcptest.Options{})
		must(t, f.prepare(s, t.Context()))
		before, beforeChanges := s.world.Calls(), s.world.Changes()
		must(t, f.run(s, t.Context()))
		all, changes = s.world.Calls()-before, s.world.Changes()-beforeChanges
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
		for name, world := range map[string]gcptest.Options{"at once": {}, "slow": slow()} {
			for _, fault := range gcptest.Faults() {
				n := changes
				if fault == faults.Stale {
					n = all
				}
				for i := range sample(n, &k) {
					t.Run(fmt.Sprintf("%s: %s at %d, %s", f.name, fault, i, name), func(t *testing.T) {
						bubble(t, func(t *testing.T) { f.resumes(t, world, i, fault) })
					})
				}
			}
		}
	}
}

// A repeated change with a forgotten operation does not fail because the first attempt succeeded. A
// sample contains few such calls.
func TestSurvivesForgottenOperations(t *testing.T) {
	t.Parallel()
	rest.Only(t)
	for _, f := range flows() {
		if f.name != "update" && f.name != "machine" {
			continue
		}
		_, changes := f.calls(t)
		for i := 1; i <= changes; i++ {
			t.Run(fmt.Sprintf("%s: at %d", f.name, i), func(t *testing.T) {
				bubble(t, func(t *testing.T) { f.resumes(t, gcptest.Options{}, i, gcptest.ForgetOperation) })
			})
		}
	}
}

// sample yields those of n calls, counted from 1, that a run covers. It counts all of them in k.
func sample(n int, k *int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := 1; i <= n; i++ {
			if *k++; !skipped(*k) && !yield(i) {
				return
			}
		}
	}
}

// skipped reports whether a case is skipped. `make faults` runs most of them.
func skipped(k int) bool {
	return k%faults.Stride(211) != 0
}

func (f flow) resumes(t *testing.T, world gcptest.Options, i int, fault faults.Fault) {
	t.Helper()
	s := newStage(t, world)
	before := s.everything(t)
	must(t, f.prepare(s, t.Context()))
	s.settleDown()
	if fault == faults.Stale {
		s.world.FailAt(s.world.Calls()+i, fault)
	} else {
		s.world.FailChange(s.world.Changes()+i, fault)
	}
	first := f.run(s, t.Context())
	if survives(fault) && first != nil {
		t.Errorf("first run: got %v, want it to get over this", first)
	}
	s.resume()
	must(t, s.patiently(t.Context(), f.run))
	s.settleDown()
	if d := cmp.Diff(s.live(t), f.want); d != "" {
		t.Errorf("inventory: got -, want +:\n%s", d)
	}
	if len(f.want) > 0 {
		s.wantNothingToDo(t)
	}
	must(t, s.down(t.Context()))
	s.settleDown()
	if d := cmp.Diff(s.everything(t), before); d != "" {
		t.Errorf("left behind: got -, want +:\n%s", d)
	}
}

// survives reports whether a run completes despite a fault: because names identify the outcome of a
// call, only permanent errors and killed processes end a run.
func survives(fault faults.Fault) bool {
	switch fault {
	case faults.ThrottleOnce, gcptest.ForgetOperation, gcptest.FailOperation:
		return true
	case faults.Refuse, faults.Throttle, faults.Break, faults.LoseRequest, faults.LoseReply, faults.KillBefore, faults.KillAfter, faults.Stale:
	}
	return false
}

// patiently re-runs the command as its error advises: while lists are stale, the plan computed
// under the lock may differ from the approved one.
func (s *stage) patiently(ctx context.Context, run func(*stage, context.Context) error) error {
	var err error
	for range 3 {
		if err = run(s, ctx); !errors.Is(err, installer.ErrPlanChanged) {
			return err
		}
	}
	return err
}

// After an up was killed at any call, down deletes the cluster without another up and while lists
// are stale.
func TestDownDeletesPartialCluster(t *testing.T) {
	t.Parallel()
	rest.Only(t)
	_, changes := flows()[0].calls(t)
	for _, fault := range []faults.Fault{faults.KillBefore, faults.KillAfter} {
		for i := 1; i <= changes; i++ {
			if i%faults.Stride(9) != 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s call %d", fault, i), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					s := newStage(t, slow())
					before := s.everything(t)
					s.world.FailChange(i, fault)
					_ = s.up(t.Context()) // it is expected to fail
					s.resume()
					must(t, s.down(t.Context()))
					s.settleDown()
					if d := cmp.Diff(s.everything(t), before); d != "" {
						t.Errorf("left behind: got -, want +:\n%s", d)
					}
				})
			})
		}
	}
}
