package parts

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud/gcp/fleet"
	"github.com/det-deploy/det-deploy/cloud/gcp/metadata"
	"github.com/det-deploy/det-deploy/master"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/elastic"
	"github.com/det-deploy/det-deploy/master/launcher"
	"github.com/det-deploy/det-deploy/master/pool"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
	"github.com/det-deploy/det-deploy/test/storetest"
)

// The benchmark measures from the scheduling pass that leaves a task waiting until Google receives the
// insert call, with the ledger on a real disk.
func BenchmarkQueueToInsert(b *testing.B) {
	w := gcptest.New(b, gcptest.Options{})
	w.SetQuota(gcptest.Project, "CPUS", 1<<30)
	w.SetQuota(gcptest.Project, "CPUS_ALL_REGIONS", 1<<30)
	w.SetQuota(gcptest.Project, "DISKS_TOTAL_GB", 1<<30)
	w.SetQuota(gcptest.Project, "INSTANCES", 1<<30)
	extra := "      master_url: http://10.0.0.1:8080\n      project: " + gcptest.Project + "\n      zone: us-west1-b\n      cpu_slots_allowed: true\n"
	yaml := strings.Replace(onGoogle(extra), "n1-standard-8, gpu_num: 1", "e2-medium", 1)
	m, _, err := config.Parse([]byte(yaml), "master.yaml")
	if err != nil {
		b.Fatal(err)
	}
	env := master.Env{
		Config: m, ClusterID: "cluster-1", Log: slog.New(slog.DiscardHandler),
		Programs: func() map[string]string { return map[string]string{"linux-amd64": strings.Repeat("a", 64)} },
	}
	provider := gcpParts(w, gcptest.Caller{}, masterName)
	provider.home = fleet.Home{Metadata: metadata.Server{URL: "http://127.0.0.1:1"}}
	machines, err := provider.Machines(b.Context(), env, m.ResourcePools[0])
	if err != nil {
		b.Fatal(err)
	}
	l, err := launcher.New(launcher.Config{
		Store: storetest.Open(b, store.Config{Path: filepath.Join(b.TempDir(), "store.db")}), Log: env.Log,
		Pools: []launcher.Pool{{
			Name: "default", Instances: machines.Instances, Offers: machines.Offers, Shape: elastic.Shape{Slots: 1},
			Limits: elastic.Limits{Max: 1 << 20, MaxIdle: time.Hour, MaxStarting: time.Hour},
		}},
	})
	if err != nil {
		b.Fatal(err)
	}
	l.Attach(nobody{})
	go func() { _ = l.Run(b.Context()) }()
	var took []time.Duration
	scene := pool.Pool{Scheduler: pool.Scheduler{Fitting: pool.Best, DefaultPriority: pool.DefaultPriority}}
	for i := 0; b.Loop(); i++ {
		scene.Allocations = append(slices.Clone(scene.Allocations), pool.Allocation{
			ID: pool.AllocationID(fmt.Sprint(i)), Job: pool.JobID(fmt.Sprint(i)), Slots: 1, Priority: 42, State: pool.Pending,
		})
		scene.Room = l.Room("default")
		began := time.Now()
		l.Decided("default", scene, pool.Decide(scene, began))
		for w.Changes() <= i {
			time.Sleep(100 * time.Microsecond) //nolint:forbidigo // a benchmark may wait
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// nobody implements a scheduler without agents.
type nobody struct{}

func (nobody) Retire(rm.AgentID) int              { return 0 }
func (nobody) Unretire(rm.AgentID)                {}
func (nobody) Remove(rm.AgentID, string)          {}
func (nobody) Explain([]rm.AllocationID, rm.Wait) {}
func (nobody) Refuse(rm.AllocationID, string)     {}
