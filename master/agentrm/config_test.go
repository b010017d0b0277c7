package agentrm

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/queue"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func TestAllConfigurationErrorsAreReported(t *testing.T) {
	t.Parallel()
	o := newOwner()
	bad := Pool{Name: "twin", MaxAux: -1, ReconnectWait: -time.Second}
	bad.Scheduler.Fitting, bad.Scheduler.DefaultPriority = "middle", 100
	_, err := New(Config{
		Store: storetest.New(t), Gate: o, Tasks: o, Logs: o, DefaultAux: "twin", DefaultCompute: "gpu",
		Pools: []Pool{bad, {Name: "twin", ReconnectWait: 1, Scheduler: defaultPool().Scheduler}, {ReconnectWait: 1, Scheduler: defaultPool().Scheduler}},
	})
	if err == nil {
		t.Fatal("a wrong configuration is taken")
	}
	for _, want := range []string{
		"resource_pools[0].max_aux_containers_per_agent: must not be negative (-1)",
		"resource_pools[0].agent_reconnect_wait: must be positive (-1s)",
		`resource_pools[0].scheduler.fitting_policy: must be best or worst ("middle")`,
		"resource_pools[0].scheduler.default_priority: must be 1 to 99 (100)",
		`resource_pools[1].pool_name: must be unique ("twin")`,
		"resource_pools[2].pool_name: must not be empty",
		`default_compute_resource_pool: must be one of the resource pools ("gpu")`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant it to contain %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "default_aux") {
		t.Errorf("got %v, want nothing about the aux pool", err)
	}
	if _, err := New(Config{}); err == nil || !strings.Contains(err.Error(), "are required") {
		t.Errorf("got %v, want an error for missing dependencies", err)
	}
}

func TestStateMachinesRejectUnlistedTransitions(t *testing.T) {
	t.Parallel()
	for from, allowed := range presences {
		for to := range presences {
			a := &agent{id: "a", presence: from}
			err := a.setState(to, time.Now())
			if ok := slices.Contains(allowed, to); (err == nil) != ok || (a.presence == to) != (ok || from == to) {
				t.Errorf("agent from %s to %s: got %v and %s", from, to, err, a.presence)
			}
		}
	}
	for from, allowed := range phases {
		for to := range phases {
			a := &allocation{Entry: &queue.Entry{}, phase: from}
			err := a.setState(to)
			if ok := slices.Contains(allowed, to); (err == nil) != ok || (a.phase == to) != (ok || from == to) {
				t.Errorf("allocation from %s to %s: got %v and %s", from, to, err, a.phase)
			}
		}
	}
}

func TestOldJobSettingsAreDeleted(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	err := c.store.Write(t.Context(), func(tx *store.Tx) error {
		if err := jobDocs().Put(tx, "old", "", time.Now().Add(-jobMemory-time.Hour), jobDoc{Priority: 1}); err != nil {
			return err
		}
		return jobDocs().Put(tx, "new", "", time.Now(), jobDoc{Priority: 2})
	})
	if err != nil {
		t.Fatal(err)
	}
	c.restart()
	docs, err := jobDocs().All(t.Context(), c.store)
	if err != nil || len(docs) != 1 || docs[0].ID != "new" {
		t.Errorf("got %v, %v, want the new one only", docs, err)
	}
	c.submit("new", 1)
	if got, _ := c.Allocation("new.1"); got.Priority != 2 {
		t.Errorf("got priority %d, want the 2 it was given before the restart", got.Priority)
	}
}
