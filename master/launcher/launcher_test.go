package launcher

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/elastic"
	"github.com/det-deploy/det-deploy/master/store"
	cloudtest "github.com/det-deploy/det-deploy/test/fake/cloud"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func boot(d time.Duration) cloudtest.Knobs {
	return cloudtest.Knobs{Boot: d, Shutdown: 30 * time.Second, Forget: time.Hour}
}

func TestMachineIsLaunchedForATaskAndRemovedWhenIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, boot(time.Minute))
		w.later(time.Second).submit("t", 8)
		w.later(2 * time.Minute)
		if !w.runs("t") || w.alive() != 1 {
			t.Fatalf("got running %v on %d machines, want it to run on one", w.runs("t"), w.alive())
		}
		w.end("t").later(21 * time.Minute)
		if w.alive() != 0 {
			t.Errorf("got %d machines, want none", w.alive())
		}
		w.later(5 * time.Minute)
		history, err := w.History(t.Context(), "gpu")
		if err != nil || len(history) != 1 {
			t.Fatalf("got %v, %v, want one machine", history, err)
		}
		m := history[0]
		if m.GetState() != "gone" || m.GetReason() != "it was idle for 20m0s" || m.GetJoinTime() == nil || m.GetInstanceType() != "a" || m.GetZone() != "anywhere" || m.GetPrice() != "on-demand" {
			t.Errorf("got %v, want one that was idle", m)
		}
		if got := w.said(); len(got) == 0 || got[0] != "remove: machine i-0000001 was removed: it was idle for 20m0s" {
			t.Errorf("got %q reported, want that it was removed", got)
		}
	})
}

func TestLaunchCallIsPromptAndBatched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, boot(time.Minute))
		w.later(10 * time.Second)
		began := time.Now()
		for _, id := range []string{"t", "u", "v"} {
			w.submit(id, 8)
			time.Sleep(10 * time.Millisecond) //nolint:forbidigo // time passes immediately in synctest
		}
		time.Sleep(time.Second) //nolint:forbidigo // time passes immediately in synctest
		calls := w.fleet.Calls(cloudtest.OpLaunch)
		if len(calls) != 1 || calls[0].Launch.Count != 3 || calls[0].At.Sub(began) > 250*time.Millisecond {
			t.Errorf("got %+v after %v, want one call for 3 within 250ms", calls, calls[0].At.Sub(began))
		}
	})
}

func TestIdlePoolMakesFewCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, boot(time.Minute))
		w.later(5 * time.Hour)
		if n := len(w.fleet.Calls()); n > 12 {
			t.Errorf("got %d calls in five hours, want at most two an hour and two at the start", n)
		}
	})
}

func TestMinimumIsKeptWarm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, boot(time.Minute), func(p *Pool) { p.Limits.Min = 2 })
		w.later(3 * time.Hour)
		if w.alive() != 2 || w.launches() != 1 {
			t.Errorf("got %d machines of %d launches, want two of one", w.alive(), w.launches())
		}
		w.fleet.End(w.fleet.Alive("gpu")[0].ID, "Server.InternalError")
		w.later(15 * time.Minute)
		if w.alive() != 2 {
			t.Errorf("got %d machines, want the lost one replaced", w.alive())
		}
	})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		kind cloud.Kind
		// waits is the task's reason to wait, machine the type that it finally runs on.
		waits, machine string
	}{
		{"no capacity: the next offer at once", cloud.NoCapacity, "", "b"},
		{"a wrong offer: the next offer at once", cloud.Invalid, "", "b"},
		{"a quota", cloud.Quota, `a quota of the account is exhausted: fleet:launch: a in "" is refused by the test; next try in 20s`, "a"},
		{"a permission", cloud.Denied, `the master lacks the permission to launch machines: fleet:launch: a in "" is refused by the test; next try in 20s`, "a"},
		{"throttled", cloud.RateLimited, "", "a"},
		{"an answer that is lost", cloud.Ambiguous, "", "a"},
		{"an error of unknown kind", cloud.Unknown, "", "a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, boot(10*time.Second))
				w.later(time.Second)
				w.fleet.Refuse(cloud.Offer{Type: "a"}, tc.kind, 1)
				w.submit("t", 8)
				time.Sleep(10*time.Second + 50*time.Millisecond) //nolint:forbidigo // time passes immediately in synctest
				if got := w.Waits("gpu", "t"); tc.waits != "" && got != tc.waits {
					t.Errorf("got %q, want %q", got, tc.waits)
				}
				if got := w.said(); tc.waits != "" && len(got) != 1 {
					t.Errorf("got %q reported, want one reason", got)
				}
				w.later(2 * time.Minute)
				alive := w.fleet.Alive("gpu")
				if !w.runs("t") || len(alive) != 1 || alive[0].Offer.Type != tc.machine {
					t.Errorf("got running %v on %v, want it to run on one of type %s", w.runs("t"), alive, tc.machine)
				}
			})
		})
	}
}

func TestLaunchErrorFailsTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, boot(10*time.Second), func(p *Pool) { p.Limits.ErrorTimeout = 10 * time.Minute })
		w.fleet.Refuse(cloud.Offer{}, cloud.Denied, -1)
		w.later(time.Second).submit("t", 8).later(5 * time.Second)
		got := w.said()
		want := `refuse t: launch error: the master lacks the permission to launch machines: fleet:launch: a in "" is refused by the test`
		if len(got) == 0 || got[len(got)-1] != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestAMachineThatNeverJoinsIsDiagnosedAndReplaced(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		knobs func(*cloudtest.Knobs)
		want  string
	}{
		{"its last lines", func(*cloudtest.Knobs) {}, "its agent did not join within 20m0s; its last lines: i-0000001 boots"},
		{"the missing permission to read them", func(k *cloudtest.Knobs) { k.DenyConsole = true }, "its agent did not join within 20m0s; its boot log cannot be read: fleet:console: not authorized"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := boot(time.Minute)
				tc.knobs(&k)
				w := newWorld(t, k)
				w.noJoin = true
				w.later(time.Second).submit("t", 8).later(20*time.Minute + 10*time.Second)
				w.mu.Lock()
				w.noJoin = false
				w.mu.Unlock()
				w.later(5 * time.Minute)
				alive := w.fleet.Alive("gpu")
				if !w.runs("t") || len(alive) != 1 || alive[0].ID == "i-0000001" {
					t.Errorf("got running %v on %v, want it to run on another one", w.runs("t"), alive)
				}
				history, err := w.History(t.Context(), "gpu")
				if err != nil || len(history) != 2 || history[1].GetReason() != tc.want {
					t.Errorf("got %v, %v, want %q", history, err, tc.want)
				}
			})
		})
	}
}

func TestInterruptedMachineIsReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, boot(10*time.Second))
		w.later(time.Second).submit("t", 8).later(time.Minute)
		id := w.fleet.Alive("gpu")[0].ID
		w.Leaving(id, "its platform announced its interruption")
		w.later(5 * time.Second)
		w.fleet.End(id, "Server.SpotInstanceTermination")
		w.later(2 * time.Minute)
		if !w.runs("t") || w.alive() != 1 || w.fleet.Alive("gpu")[0].ID == id {
			t.Errorf("got running %v on %v, want it to run on another one", w.runs("t"), w.fleet.Alive("gpu"))
		}
	})
}

// Machines that the platform grants and ends before they join are launched after growing delays, so that
// a persistent fault costs a few calls an hour.
func TestMachinesThatEndBeforeTheyJoinAreRefusals(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, reason, waits string
		kind                cloud.Kind
		most                int
	}{
		{"a quota", "Client.VolumeLimitExceeded", "Client.VolumeLimitExceeded", cloud.Quota, 9},
		{"an image without its snapshot", "Client.InvalidSnapshot.NotFound", "Client.InvalidSnapshot.NotFound", cloud.Invalid, 18},
		{"somebody ends all of them", "Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown", "", 18},
		{"it powers itself off", "Client.InstanceInitiatedShutdown", "Client.InstanceInitiatedShutdown", "", 18},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, boot(time.Minute))
				w.later(time.Second).submit("t", 8)
				for range 360 {
					for _, m := range w.fleet.Alive("gpu") {
						w.fleet.Reject(m.ID, tc.kind, tc.reason)
					}
					w.later(10 * time.Second)
				}
				if n := w.launches(); n < 4 || n > tc.most {
					t.Errorf("got %d launches in an hour, want at most %d", n, tc.most)
				}
				if got := w.Waits("gpu", "t"); !strings.Contains(got, tc.waits) || !strings.Contains(got, "next try in") {
					t.Errorf("got %q as the task's reason, want %s and the next try", got, tc.waits)
				}
				w.later(20 * time.Minute)
				if !w.runs("t") || w.alive() != 1 {
					t.Errorf("got running %v on %d machines after the fault has gone, want one", w.runs("t"), w.alive())
				}
			})
		})
	}
}

func TestMachinesThatEndBeforeTheyJoinAreALaunchError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, boot(time.Minute), func(p *Pool) { p.Limits.ErrorTimeout, p.Limits.ErrorRetries = 10*time.Minute, 2 })
		w.later(time.Second).submit("t", 8)
		var got []string
		for range 60 {
			for _, m := range w.fleet.Alive("gpu") {
				w.fleet.Reject(m.ID, cloud.Quota, "Client.VolumeLimitExceeded")
			}
			w.later(10 * time.Second)
			got = append(got, w.said()...)
		}
		refused := slices.ContainsFunc(got, func(s string) bool {
			return strings.HasPrefix(s, "refuse t: launch error: ") && strings.Contains(s, "Client.VolumeLimitExceeded")
		})
		if !refused || w.launches() > 4 {
			t.Errorf("got %q and %d launches, want the task refused after three", got, w.launches())
		}
	})
}

func TestInterruptionAvoidsOfferWithoutLaunchError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, boot(10*time.Second), func(p *Pool) {
			p.Offers, p.Limits.ErrorTimeout = p.Offers[:1], 10*time.Minute
		})
		w.later(time.Second).submit("t", 8).later(time.Minute)
		took := time.Now()
		w.Leaving(w.fleet.Alive("gpu")[0].ID, "its platform announced its interruption")
		w.later(2*time.Second).end("t").submit("u", 16).later(6 * time.Minute)
		if calls := w.fleet.Calls(cloudtest.OpLaunch); len(calls) < 2 || calls[1].At.Sub(took) < time.Minute {
			t.Errorf("got %v, want the next launch a minute later", calls)
		}
		if got := w.said(); slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "refuse") }) || !w.runs("u") {
			t.Errorf("got %q, want no task failed for it", got)
		}
	})
}

// The agent of a machine that its platform stops may remain connected for a while.
func TestStoppingMachineGetsNoNewTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := boot(10 * time.Second)
		k.Shutdown = time.Hour
		platform := &stuck{op: cloudtest.OpTerminate}
		w := newWorld(t, k, func(p *Pool) { platform.FleetPool = p.Instances.(*cloudtest.FleetPool); p.Instances = platform })
		w.later(time.Second).submit("t", 8).later(time.Minute)
		w.fleet.End("i-0000001", "Server.InternalError")
		w.later(6 * time.Minute)
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.retired["i-0000001"] {
			t.Error("its agent may get something new, want it left alone")
		}
	})
}

func TestUnpreparedMachineIsTerminatedAndRefusesItsOffer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, boot(10*time.Second))
		w.noJoin = true
		w.later(time.Second).submit("t", 8).later(15 * time.Second)
		w.Unprepared("i-0000001", "startup_script ended with 1")
		w.mu.Lock()
		w.noJoin = false
		w.mu.Unlock()
		w.later(time.Minute)
		alive := w.fleet.Alive("gpu")
		if len(alive) != 1 || alive[0].Offer.Type != "b" || !w.runs("t") {
			t.Errorf("got %v, want the next offer", alive)
		}
	})
}

func TestUnknownListedMachineIsAdopted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fleet := cloudtest.NewFleet(boot(time.Second), time.Now)
		stray, err := fleet.Pool("gpu").Launch(t.Context(), cloud.Launch{Token: "from another life", Offer: cloud.Offer{Type: "a", Price: cloud.OnDemand}, Count: 1})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, cloudtest.Knobs{}, func(p *Pool) { p.Instances = fleet.Pool("gpu") })
		w.fleet = fleet
		w.later(time.Minute)
		if pool, ok := w.Launched(stray[0].ID); !ok || pool != "gpu" {
			t.Errorf("got %q, %v, want it to be the pool's", pool, ok)
		}
		w.later(30 * time.Minute)
		if n := len(fleet.Alive("gpu")); n != 0 {
			t.Errorf("got %d machines, want none", n)
		}
	})
}

func TestTwoLaunchersOfOnePlatformStayApart(t *testing.T) {
	t.Parallel()
	l, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	_, launches := l.Machine("gpu")
	if l.Room("gpu") != nil || l.Waits("gpu", "t") != "" || launches {
		t.Error("a pool without a provider has machines to launch")
	}
	if _, err := New(Config{Pools: []Pool{{Name: "gpu", Limits: elastic.Limits{Max: 1}}}}); err == nil {
		t.Error("a pool without a platform is taken")
	}
}

func TestMachinesOfARemovedPoolAreListed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, boot(time.Second))
		w.later(time.Second).submit("t", 8).submit("u", 8).later(time.Minute)
		w.kill()
		var log strings.Builder
		l, err := New(Config{
			Store: storetest.Open(t, store.Config{Path: w.path}),
			Log:   slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Restore(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := log.String(); !strings.Contains(got, "pool=gpu") || !strings.Contains(got, "i-0000001") {
			t.Errorf("got %q, want the machine and its pool", got)
		}
		if history, err := l.History(t.Context(), "gpu"); err != nil || len(history) != 2 || history[0].GetState() != "joined" || history[0].GetCause() != "pool-gone" {
			t.Errorf("got %v, %v, want it as it was last known", history, err)
		}
		if err := l.pruneBefore(t.Context(), time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := l.Ended(t.Context(), "gpu", "i-0000001", "its pool is gone"); err != nil {
				t.Fatal(err)
			}
		}
		history, err := l.History(t.Context(), "gpu")
		if err != nil || len(history) != 2 || history[0].GetState() != "gone" || history[0].GetCause() != "pool-gone" {
			t.Errorf("got %v, %v, want it gone with its pool", history, err)
		}
		if err := l.pruneBefore(t.Context(), time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if history, err := l.History(t.Context(), ""); err != nil || len(history) != 0 {
			t.Errorf("got %v, %v, want old records deleted", history, err)
		}
	})
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, boot(10*time.Second))
		w.fleet.Refuse(cloud.Offer{Type: "a"}, cloud.Quota, 1)
		w.later(time.Second).submit("t", 8).later(2 * time.Second)
		r := prometheus.NewPedanticRegistry()
		if err := r.Register(w.Metrics()); err != nil {
			t.Fatal(err)
		}
		if got := metric(t, r, "det_deploy_pool_launch_refused", "quota"); got != 1 {
			t.Errorf("refused: got %v, want 1", got)
		}
		if got := metric(t, r, "det_deploy_pool_demand", ""); got != 1 {
			t.Errorf("demand: got %v, want 1", got)
		}
		w.later(2 * time.Minute)
		if got := metric(t, r, "det_deploy_pool_machines", "joined"); got != 1 {
			t.Errorf("joined: got %v, want 1", got)
		}
		if got := metric(t, r, "det_deploy_machine_refusals_total", "quota"); got != 1 {
			t.Errorf("refusals: got %v, want 1", got)
		}
	})
}

// metric returns the value of the metric that has a label with that value.
func metric(t *testing.T, r prometheus.Gatherer, name, label string) float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			has := slices.ContainsFunc(m.GetLabel(), func(p *dto.LabelPair) bool { return p.GetValue() == label })
			if f.GetName() == name && (has || label == "") {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return -1
}

// The platform's interruption notice can come with the first message of the machine's agent, before the
// launcher has seen that it has joined.
func TestInterruptionNoticeDuringJoin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, boot(10*time.Second), func(p *Pool) { p.Limits.Min, p.Limits.Max = 1, 1 })
		w.noJoin = true
		w.later(time.Minute)
		w.mu.Lock()
		w.noJoin = false
		w.machines["i-0000001"], w.retired["i-0000001"] = true, true // its agent never gets new work
		w.mu.Unlock()
		w.Leaving("i-0000001", "its platform announced its rebalance")
		time.Sleep(100 * time.Millisecond) //nolint:forbidigo // time passes immediately in synctest
		w.submit("t", 8).later(3 * time.Minute)
		if got := w.fleet.Alive("gpu"); len(got) != 1 || got[0].ID == "i-0000001" || !w.runs("t") {
			t.Errorf("got %v, running %v; want it to run on another machine", got, w.runs("t"))
		}
	})
}

func TestMasterDowntimeDoesNotCountAgainstMachines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, boot(10*time.Second))
		w.noJoin = true
		w.later(time.Second).submit("t", 8).later(time.Minute)
		w.kill()
		time.Sleep(time.Hour) //nolint:forbidigo // time passes immediately in synctest
		w.start()
		w.later(time.Minute)
		w.mu.Lock()
		w.noJoin = false
		w.mu.Unlock()
		w.later(time.Minute)
		if n := len(w.fleet.Truth("gpu")); n != 1 || !w.runs("t") {
			t.Errorf("got %d machines, running %v; want it to run on the one", n, w.runs("t"))
		}
	})
}
