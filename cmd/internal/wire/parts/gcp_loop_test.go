package parts

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/attest"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
	"github.com/det-deploy/det-deploy/test/rest"
)

// slow returns the latencies of the real Google Cloud: operations take time, and lists are delayed.
func slow() gcptest.Options {
	return gcptest.Options{
		Latency: 200 * time.Millisecond, Operation: 2 * time.Second, Provisioning: 3 * time.Second, Staging: 10 * time.Second,
		Stopping: 20 * time.Second, Lag: 5 * time.Second,
	}
}

// inBubble runs a test of a master with a pool's settings.
func inBubble(t *testing.T, extra string, do func(t *testing.T, w *googleWorld)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { do(t, openGoogle(t, onGoogle(extra), slow(), gcptest.Caller{})) })
}

const agentAccount = "det-agent@" + gcptest.Project + ".iam.gserviceaccount.com"

func TestTaskLaunchesMachineAndIdleMachineIsDeleted(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		extra string
		kind  string
	}{
		"with a service account": {"      service_account: {email: " + agentAccount + "}", attest.KindToken},
		"without one":            {"", attest.KindGuest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, tc.extra, func(t *testing.T, w *googleWorld) {
				name := w.submit("one", "default").later(time.Minute).on("one")
				if name == "" {
					t.Fatalf("the task waits; machines %v, refused %v", w.names(), w.refused)
				}
				m := w.machines()[name]
				if m.zone != zoneB || m.Labels["managed-by"] != "lab" || m.Labels["det-deploy-cluster"] != "cluster-1" || len(m.GuestAccelerators) != 1 {
					t.Errorf("got %s in %s with labels %v", name, m.zone, m.Labels)
				}
				if got := w.prove(name).Kind; got != tc.kind {
					t.Errorf("got a proof of kind %s, want %s", got, tc.kind)
				}
				w.end("one").later(10 * time.Minute)
				if left := w.names(); len(left) > 0 {
					t.Errorf("got %v left of an idle pool", left)
				}
			})
		})
	}
}

// An idle pool makes one list call every half hour.
func TestIdlePoolMakesFewCalls(t *testing.T) {
	t.Parallel()
	inBubble(t, "", func(t *testing.T, w *googleWorld) {
		w.later(time.Minute)
		before := w.google.Calls()
		w.later(2 * time.Hour)
		if got := w.google.Calls() - before; got != 4 {
			t.Errorf("got %d calls in two hours, want 4", got)
		}
	})
}

func TestZoneWithoutCapacityIsSkipped(t *testing.T) {
	t.Parallel()
	inBubble(t, "      zones: [us-west1-a, us-west1-b]", func(t *testing.T, w *googleWorld) {
		w.google.StockOut(zoneA, "", -1)
		w.submit("one", "default").later(10 * time.Second)
		all := w.machines()
		if len(all) != 1 || all[w.names()[0]].zone != zoneB {
			t.Fatalf("got %v after 10 s, want one machine in %s", w.names(), zoneB)
		}
		w.later(time.Minute)
		if w.on("one") == "" {
			t.Error("the task waits")
		}
		// A zone without capacity is not retried while the other one has some, not even by a restarted
		// master.
		w.restart()
		w.submit("two", "default").later(time.Minute)
		if got := countOps(w, "compute.instances.insert"); got != 3 {
			t.Errorf("got %d launches for two tasks, want 3", got)
		}
	})
}

func countOps(w *googleWorld, op string) (n int) {
	for _, e := range w.google.Journal() {
		if e.Op == op {
			n++
		}
	}
	return n - 1 // without the master's own machine
}

func TestPreemptedMachineIsDeletedAndRecorded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spot string
		away bool
	}{
		"it is seen while it stops":           {"spot: true", false},
		"it is seen when it has stopped":      {"spot: true", true},
		"the older word, with a machine":      {"instance_type: {machine_type: g2-standard-8, preemptible: true}", false},
		"a pool that falls back on on-demand": {"spot: {fallback_to_on_demand: true}", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := openGoogle(t, spotPool(tc.spot), slow(), gcptest.Caller{})
				first := w.submit("one", "default").later(time.Minute).on("one")
				if tc.away {
					w.kill()
				}
				w.google.Preempt(gcptest.Project, zoneB, first)
				if tc.away {
					w.later(time.Minute)
					w.start()
				}
				w.later(5 * time.Minute)
				if w.machines()[first].Instance != nil {
					t.Errorf("%s is still there", first)
				}
				if second := w.on("one"); second == "" || second == first {
					t.Errorf("the task is on %q, want another machine than %s", second, first)
				}
				w.history(first, "compute.instances.preempted")
			})
		})
	}
}

// spotPool returns the pool with an additional setting, or with another machine type.
func spotPool(setting string) string {
	pool := onGoogle("      " + setting)
	if strings.HasPrefix(setting, "instance_type") {
		pool = strings.Replace(pool, "      instance_type: {machine_type: n1-standard-8, gpu_num: 1}\n", "", 1)
	}
	return pool
}

// history waits until the history of a machine contains a text.
func (w *googleWorld) history(name, want string) {
	w.t.Helper()
	all, err := w.History(w.t.Context(), "default")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, m := range all {
		if m.GetId() == name && strings.Contains(m.String(), want) {
			return
		}
	}
	w.t.Errorf("the history of %s has no %q: %v", name, want, all)
}

// If a master is killed during a launch, its successor has exactly one machine.
func TestMasterKilledDuringLaunchMakesNoSecondMachine(t *testing.T) {
	t.Parallel()
	for _, fault := range []faults.Fault{faults.KillBefore, faults.KillAfter} {
		for n := 1; n <= 6; n++ {
			t.Run(fmt.Sprintf("%s %d", fault, n), func(t *testing.T) {
				t.Parallel()
				inBubble(t, "      service_account: {email: "+agentAccount+"}", func(t *testing.T, w *googleWorld) {
					w.later(time.Second)
					w.google.FailAt(w.google.Calls()+n, fault)
					w.submit("one", "default").later(30 * time.Second)
					w.restart()
					w.later(3 * time.Minute)
					if got := w.names(); len(got) != 1 || w.on("one") != got[0] {
						t.Errorf("got machines %v, and the task on %q", got, w.on("one"))
					}
				})
			})
		}
	}
}

// If a master is killed at any second, its successor finds the machine, accepts its agent and launches no
// other machine.
func TestKilledMasterFindsItsMachine(t *testing.T) {
	t.Parallel()
	for seconds := 0; seconds < 20; seconds += faults.Stride(rest.Choose(9, 3)) {
		t.Run(fmt.Sprint(seconds), func(t *testing.T) {
			t.Parallel()
			inBubble(t, "", func(t *testing.T, w *googleWorld) {
				w.submit("one", "default").later(time.Duration(seconds) * time.Second)
				w.restart()
				w.later(3 * time.Minute)
				if got := w.names(); len(got) != 1 || w.on("one") != got[0] {
					t.Errorf("got machines %v, and the task on %q; refused %v", got, w.on("one"), w.refused)
				}
			})
		})
	}
}

// A restarted master knows its machines from the ledger before Google lists them.
func TestMachineJoinsBeforeFirstListAfterRestart(t *testing.T) {
	t.Parallel()
	inBubble(t, "", func(t *testing.T, w *googleWorld) {
		name := w.submit("one", "default").later(time.Minute).on("one")
		w.kill()
		w.mu.Lock()
		w.lose("det-none")
		clear(w.agents)
		w.mu.Unlock()
		w.google.Tune(func(o *gcptest.Options) { o.Lag = time.Hour })
		w.google.Unreachable(zoneA)
		w.start()
		w.later(2 * time.Second)
		if err := w.whyRefused(name); err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
	})
}

// Foreign machines with the same label are never deleted.
func TestForeignMachineWithLabelIsKept(t *testing.T) {
	t.Parallel()
	inBubble(t, "", func(t *testing.T, w *googleWorld) {
		for _, name := range []string{"theirs", "det-cluster-1-default-aaaaaaaaaaaa-0"} {
			w.insert(zoneB, name, func(i *compute.Instance) {
				i.Labels = map[string]string{"managed-by": "lab", "determined-resource-pool": "default"}
			})
		}
		w.submit("one", "default").later(time.Minute).end("one").later(time.Hour)
		want := []string{"det-cluster-1-default-aaaaaaaaaaaa-0", "theirs"}
		if got := w.names(); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// Pool names may contain characters that labels cannot, and similar names remain distinct.
func TestPoolNamesThatAreNotLabels(t *testing.T) {
	t.Parallel()
	const head = "resource_manager: {type: agent, default_aux_resource_pool: GPU Pool, default_compute_resource_pool: gpu pool}\n"
	one := head + strings.Replace(onGoogle(""), "pool_name: default", "pool_name: GPU Pool", 1)
	two := strings.TrimPrefix(strings.Replace(onGoogle(""), "pool_name: default", "pool_name: gpu pool", 1), "\nresource_pools:\n")
	synctest.Test(t, func(t *testing.T) {
		w := openGoogle(t, one+two, slow(), gcptest.Caller{})
		w.submit("one", "GPU Pool").submit("two", "gpu pool").later(time.Minute)
		a, b := w.on("one"), w.on("two")
		if a == "" || b == "" || a == b || len(w.names()) != 2 {
			t.Fatalf("got tasks on %q and %q of %v", a, b, w.names())
		}
		labels := w.machines()[a].Labels["det-deploy-pool"]
		if labels == w.machines()[b].Labels["det-deploy-pool"] {
			t.Errorf("both pools are called %s", labels)
		}
		w.restart()
		w.later(time.Minute)
		if len(w.names()) != 2 || w.on("one") != a || w.on("two") != b {
			t.Errorf("got tasks on %q and %q of %v", w.on("one"), w.on("two"), w.names())
		}
	})
}

// The manual's option 2 is the default account with the scope Compute Engine: Read Write. Option 1 is an
// account with the roles Compute Admin and Service Account User.
func TestRolesOfManualAreSufficient(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		roles, scopes []string
		extra         string
	}{
		"the scope alone":                         {[]string{"roles/editor"}, []string{"compute"}, ""},
		"the scope, agents' account":              {[]string{"roles/editor"}, []string{"compute"}, "      service_account: {email: " + agentAccount + "}"},
		"the role":                                {[]string{"roles/compute.admin"}, nil, ""},
		"the roles of both":                       {[]string{"roles/compute.admin", "roles/iam.serviceAccountUser"}, nil, "      service_account: {email: " + agentAccount + "}"},
		"the scope, a spot pool":                  {[]string{"roles/editor"}, []string{"compute"}, "      spot: true"},
		"the scope, with its own zone configured": {[]string{"roles/editor"}, []string{"compute"}, "      zone: us-west1-a\n      project: " + gcptest.Project},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := openGoogle(t, onGoogle(tc.extra), slow(), gcptest.Caller{Member: "serviceAccount:" + masterAccount, Scopes: tc.scopes})
				for _, role := range tc.roles {
					w.google.Bind("projects/"+gcptest.Project, role, "serviceAccount:"+masterAccount)
				}
				name := w.submit("one", "default").later(time.Minute).on("one")
				if name == "" {
					t.Fatalf("the task waits; machines %v, refused %v", w.names(), w.refused)
				}
				w.restart()
				w.end("one").later(10 * time.Minute)
				if left := w.names(); len(left) > 0 {
					t.Errorf("got %v left of an idle pool", left)
				}
			})
		})
	}
}

// prove returns the proof of a machine.
func (w *googleWorld) prove(name string) cloud.Proof {
	w.t.Helper()
	proof, err := w.prover(w.machines()[name]).Prove(w.t.Context(), w.env.ClusterID)
	if err != nil {
		w.t.Fatal(err)
	}
	return proof
}

func TestForgedProofsAreRejected(t *testing.T) {
	t.Parallel()
	for name, extra := range map[string]string{
		"with a service account": "      service_account: {email: " + agentAccount + "}",
		"without one":            "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, extra, func(t *testing.T, w *googleWorld) {
				mine := w.submit("one", "default").later(time.Minute).on("one")
				copyOf := func(i *compute.Instance) {
					m := w.machines()[mine].Instance
					i.Labels, i.Metadata, i.ServiceAccounts = m.Labels, m.Metadata, m.ServiceAccounts
				}
				w.insert(zoneB, "impostor", copyOf)
				w.later(20 * time.Second)
				if err := w.whyRefused("impostor"); err == nil {
					t.Error("a machine that the master did not launch was admitted")
				}
				for what, proof := range w.forgeProofs(mine) {
					if err := w.admit(proof); cloud.KindOf(err) != cloud.Denied {
						t.Errorf("%s: got %v, want it denied", what, err)
					}
				}
			})
		})
	}
}

// forgeProofs returns proofs that others could present to join as a machine.
func (w *googleWorld) forgeProofs(mine string) map[string]cloud.Proof {
	w.t.Helper()
	guest := func(secret string) cloud.Proof {
		data, err := json.Marshal(attest.Guest{Name: mine, Secret: secret})
		if err != nil {
			w.t.Fatal(err)
		}
		return cloud.Proof{Kind: attest.KindGuest, Data: data}
	}
	token := func(audience string, change func(machine map[string]any)) cloud.Proof {
		claims := w.google.Claims(gcptest.Project, zoneB, mine, audience)
		machine := maps.Clone(claims["google"].(map[string]any)["compute_engine"].(map[string]any))
		change(machine)
		claims["google"] = map[string]any{"compute_engine": machine}
		return cloud.Proof{Kind: attest.KindToken, Data: []byte(w.google.SignToken("key-1", claims))}
	}
	all := map[string]cloud.Proof{"a guessed secret": guest(strings.Repeat("s", 40))}
	if len(w.machines()[mine].ServiceAccounts) == 0 {
		return all // the machine has no tokens
	}
	right := attest.Audience(w.env.ClusterID, strings.Repeat("n", 26))
	other := token(attest.Audience("other", strings.Repeat("n", 26)), func(map[string]any) {})
	named := token(right, func(m map[string]any) { m["instance_id"] = "42" })
	maps.Copy(all, map[string]cloud.Proof{
		"a token for another cluster": other,
		"a machine of the same name":  named,
		"another zone":                token(right, func(m map[string]any) { m["zone"] = zoneA }),
		"another project":             token(right, func(m map[string]any) { m["project_id"] = "other" }),
		"another kind":                {Kind: "aws-sts", Data: other.Data},
	})
	return all
}

// However a call fails, the task gets a machine, there is never more than one machine for it, and no
// machine remains.
func TestEveryCallOfALaunchFailsInEveryWay(t *testing.T) {
	t.Parallel()
	const calls = 8 // from the task's submission until it runs
	stride, at := faults.Stride(rest.Choose(27, 9)), 0
	for _, fault := range gcptest.Faults() {
		for n := 1; n <= calls; n++ {
			if at++; at%stride != 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s %d", fault, n), func(t *testing.T) {
				t.Parallel()
				inBubble(t, "      zones: [us-west1-b, us-west1-a]", func(t *testing.T, w *googleWorld) {
					w.later(time.Second)
					w.google.FailAt(w.google.Calls()+n, fault)
					w.submit("one", "default").later(30 * time.Second).restartIfKilled()
					w.later(10 * time.Minute).restartIfKilled()
					w.later(time.Minute)
					if got := w.names(); len(got) != 1 || w.on("one") != got[0] {
						t.Errorf("got machines %v, and the task on %q; refused %v", got, w.on("one"), w.refused)
					}
					w.end("one").later(6 * time.Minute).restartIfKilled()
					w.later(20 * time.Minute)
					if left := w.names(); len(left) > 0 {
						t.Errorf("got %v left of an idle pool", left)
					}
				})
			})
		}
	}
}

func (w *googleWorld) restartIfKilled() {
	w.t.Helper()
	if w.google.Dead() {
		w.restart()
	}
}
