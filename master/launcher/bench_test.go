package launcher

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/elastic"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	cloudtest "github.com/det-deploy/det-deploy/test/fake/cloud"
	"github.com/det-deploy/det-deploy/test/storetest"
)

// BenchmarkQueueToCall measures the time from the scheduling pass that leaves a task waiting to the
// platform's call, with the ledger on a real disk.
func BenchmarkQueueToCall(b *testing.B) {
	fleet := cloudtest.NewFleet(cloudtest.Knobs{}, time.Now)
	l, err := New(Config{
		Store: storetest.Open(b, store.Config{Path: filepath.Join(b.TempDir(), "store.db")}),
		Pools: []Pool{{
			Name: "gpu", Instances: fleet.Pool("gpu"), Offers: []cloud.Offer{{Type: "a", Price: cloud.OnDemand}},
			Limits: elastic.Limits{Max: 1 << 20, MaxIdle: time.Hour, MaxStarting: time.Hour}, Shape: elastic.Shape{Slots: 8},
		}},
	})
	if err != nil {
		b.Fatal(err)
	}
	l.Attach(noAgents{})
	done := make(chan error, 1)
	go func() { done <- l.Run(b.Context()) }()
	var took []time.Duration
	scene := pool.Pool{Scheduler: pool.Scheduler{Fitting: pool.Best, DefaultPriority: pool.DefaultPriority}}
	for i := 0; b.Loop(); i++ {
		scene.Allocations = append(slices.Clone(scene.Allocations), pool.Allocation{
			ID: pool.AllocationID(fmt.Sprint(i)), Job: pool.JobID(fmt.Sprint(i)), Slots: 8, Priority: 42, State: pool.Pending,
		})
		scene.Room = l.Room("gpu")
		began := time.Now()
		l.Decided("gpu", scene, pool.Decide(scene, began))
		for len(fleet.Calls(cloudtest.OpLaunch)) <= i {
			time.Sleep(100 * time.Microsecond) //nolint:forbidigo // a benchmark may wait
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// noAgents is a scheduler without agents.
type noAgents struct{}

func (noAgents) Retire(rm.AgentID) int              { return 0 }
func (noAgents) Unretire(rm.AgentID)                {}
func (noAgents) Remove(rm.AgentID, string)          {}
func (noAgents) Explain([]rm.AllocationID, rm.Wait) {}
func (noAgents) Refuse(rm.AllocationID, string)     {}
