// Package history measures a master with a history of many experiments: the time until it is ready,
// its memory, and the cost of a page of each list.
package history

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/bench/master"
)

var program = flag.String("bin", "../../../bin/det-deploy", "the program to measure")

// IDs of the generated records, beyond those that the master assigns itself.
const (
	firstEnded = 1_000_001
	firstTrial = 2_000_001
	running    = 100
)

const (
	// mostMemory limits the memory for the history and mostReady the time until the master is
	// ready. The processor time is compared where other processes use the machine.
	mostMemory int64 = 100_000_000
	mostReady        = 2 * time.Second
)

const configuration = `
name: bench
entrypoint: python3 train.py
searcher: {name: async_halving, metric: loss, time_metric: epochs, max_time: 16, num_rungs: 3, max_trials: 32, max_concurrent_trials: 16}
hyperparameters: {lr: {type: double, minval: 0, maxval: 1}, layers: {type: int, minval: 1, maxval: 8}}
checkpoint_storage: {type: directory, container_path: /checkpoints}
labels: [nightly, resnet]
environment: {environment_variables: [A=1, B=2, C=3]}
resources: {slots_per_trial: 0}
`

// page is one page of a list.
type page struct {
	name, path string
	// whole marks a page whose order needs all records: its cost may grow with their number.
	whole bool
}

func pages() []page {
	const large = firstEnded // the experiment with as many trials as there are experiments
	return []page{
		{"the first 200", "experiments?limit=200", false},
		{"the first 20", "experiments?limit=20", false},
		{"20 of the middle", "experiments?limit=20&offset=500", false},
		{"20 by start", "experiments?limit=20&sortBy=SORT_BY_START_TIME&orderBy=ORDER_BY_DESC", true},
		{"20 by name", "experiments?limit=20&sortBy=SORT_BY_NAME", true},
		{"20 by state", "experiments?limit=20&sortBy=SORT_BY_STATE", true},
		{"20 not archived that ended", "experiments?limit=20&archived=false&states=STATE_COMPLETED", true},
		{"20 trials of many", fmt.Sprintf("experiments/%d/trials?limit=20", large), false},
		{"20 trials of many by metric", fmt.Sprintf("experiments/%d/trials?limit=20&sortBy=SORT_BY_BEST_VALIDATION_METRIC", large), true},
		{"an experiment of many trials", fmt.Sprintf("experiments/%d", large), true},
		{"20 checkpoints of many", fmt.Sprintf("experiments/%d/checkpoints?limit=20", large), true},
		{"20 checkpoints of many by metric", fmt.Sprintf("experiments/%d/checkpoints?limit=20&sortByAttr=SORT_BY_SEARCHER_METRIC", large), true},
	}
}

// BenchmarkHistory measures a master with the given number of ended experiments, one of which has
// as many trials with a checkpoint each, and 100 running experiments. It fails if a page costs more
// than twice as much with ten times the records, unless its order needs all of them.
func BenchmarkHistory(b *testing.B) {
	costs := map[string]time.Duration{}
	for _, ended := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("%d_ended", ended), func(b *testing.B) {
			m := open(b, ended)
			b.Run("start", m.start)
			for _, p := range pages() {
				b.Run(p.name, func(b *testing.B) {
					cost := m.read(b, p.path)
					if before := costs[fmt.Sprint(ended/10, p.name)]; before > 0 && !p.whole && cost > 2*before+noise {
						b.Errorf("grows faster than its work: %v, and %v with a tenth of the experiments", cost, before)
					}
					costs[fmt.Sprint(ended, p.name)] = cost
				})
			}
		})
	}
}

// noise covers the resolution of the kernel's processor time and the master's background work.
const noise = 3 * time.Millisecond

// measured is a master with a history.
type measured struct {
	*master.Master

	// ready is the time from the start to the first login, processor the processor time until the
	// master was idle, and memory the growth over a master without history.
	ready, processor time.Duration
	memory           int64
}

// startMaster starts a master that is stopped at the end of the benchmark.
func startMaster(b *testing.B) (m *master.Master, bin string) {
	b.Helper()
	bin, err := filepath.Abs(*program)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := os.Stat(bin); err != nil {
		b.Skip("there is no program; run: make build")
	}
	if m, err = master.Start(b.Context(), bin, ""); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := m.Stop(); err != nil {
			b.Error(err)
		}
	})
	return m, bin
}

// restingMemory returns the memory of an idle master, after the runtime has slowly released the 19
// MB of a login.
func restingMemory(b *testing.B, m *master.Master) int64 {
	b.Helper()
	master.Pause(b.Context(), 10*time.Second)
	n, err := m.Memory()
	if err != nil {
		b.Fatal(err)
	}
	return n
}

func open(b *testing.B, ended int) *measured {
	b.Helper()
	m, bin := startMaster(b)
	alone := restingMemory(b, m)
	for range running {
		if err := m.Ask(b.Context(), http.MethodPost, "experiments", map[string]any{"config": configuration, "activate": true}, nil); err != nil {
			b.Fatal(err)
		}
	}
	ready, err := m.Restart(b.Context(), bin, "", func(database string) error { return fill(b.Context(), database, ended, ended) })
	if err != nil {
		b.Fatal(err)
	}
	took := m.Processor() // before the memory is read, which costs some as well
	return &measured{Master: m, ready: ready, processor: took, memory: restingMemory(b, m) - alone}
}

// start reports figures of the master's single start.
func (m *measured) start(b *testing.B) {
	for b.Loop() {
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(m.ready.Milliseconds()), "ready-ms")
	b.ReportMetric(float64(m.processor.Milliseconds()), "processor-ms")
	b.ReportMetric(float64(m.memory)/1e6, "MB-of-history")
	if m.memory > mostMemory || m.processor > mostReady {
		b.Errorf("%d MB and %v of processor time for a start; want at most %d MB and %v", m.memory/1_000_000, m.processor, mostMemory/1_000_000, mostReady)
	}
}

// read requests a page repeatedly and returns the processor time of one request.
func (m *measured) read(b *testing.B, path string) time.Duration {
	b.Helper()
	var took []time.Duration
	before := m.Processor()
	for b.Loop() {
		began := time.Now()
		if err := m.Ask(b.Context(), http.MethodGet, path, nil, nil); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	spent := m.Processor() - before
	slices.Sort(took)
	each := spent / time.Duration(len(took))
	b.ReportMetric(float64(each.Microseconds()), "µs-of-the-master/page")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	return each
}

// fill writes ended experiments to the store as the master does, the first with the given number of trials.
func fill(ctx context.Context, database string, ended, trials int) error {
	s, err := store.Open(ctx, store.Config{Path: database})
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // the writes have been answered
	if _, err := s.Acquire(ctx, "bench"); err != nil {
		return err
	}
	config, _, err := record.Docs().Configs.Get(ctx, s, record.Key(1))
	if err != nil {
		return err
	}
	for from := 0; from < ended; from += 500 {
		err := s.Write(ctx, func(tx *store.Tx) error {
			for i := from; i < from+500; i++ {
				if err := put(tx, int32(i), int32(trials), config.Value); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// put writes the i-th ended experiment with one trial, and one trial of the first experiment, or then of its own,
// with a checkpoint.
func put(tx *store.Tx, i, trials int32, config record.Config) error {
	docs, id := record.Docs(), firstEnded+i
	began := time.Unix(1_700_000_000+int64(i)*60, 0).UTC()
	x := record.Experiment{
		ID: id, State: lifecycle.Completed, Name: fmt.Sprintf("resnet %d", (i*7919)%10_000), UserID: 1, Username: "admin",
		JobID: fmt.Sprintf("job-%d", id), ProjectID: 1, Labels: []string{"nightly", "resnet"}, Started: began, Ended: began.Add(time.Hour), Progress: 1, Trials: 1,
		Queue: record.Queue{Pool: "default", Weight: 1}, Searcher: record.Searcher{Name: "async_halving", Metric: "loss", SmallerIsBetter: true},
		Best: &record.Best{Trial: firstTrial + i, Steps: 100, Metric: 0.25}, Events: 40,
	}
	if i == 0 {
		x.Trials = int(trials)
	}
	of := int32(firstEnded)
	if i >= trials {
		of = id
	}
	t := record.Trial{
		ID: firstTrial + i, Experiment: of, Number: int(i) + 1, RequestID: fmt.Sprintf("request-%d", i), Tasks: []string{fmt.Sprintf("task-%d", i)},
		Life: lifecycle.Trial{State: lifecycle.Completed, Run: 1, Latest: fmt.Sprintf("checkpoint-%d", i)}, Seed: 7,
		Hparams: map[string]any{"lr": 0.1, "layers": 3.0}, Created: began, Ended: began.Add(time.Hour), Steps: 100, LatestSteps: 100,
		Best: &record.Best{Trial: firstTrial + i, Steps: 100, Metric: 0.25}, Latest: &record.Best{Trial: firstTrial + i, Steps: 100, Metric: 0.25},
	}
	if err := docs.Experiments.Put(tx, record.Key(id), "", began, x); err != nil {
		return err
	}
	if err := docs.Configs.Put(tx, record.Key(id), "", time.Time{}, config); err != nil {
		return err
	}
	if err := docs.Trials.Put(tx, record.Key(t.ID), record.Key(t.Experiment), began, t); err != nil {
		return err
	}
	return checkpoint.SetMetadata(tx, checkpoint.Record{
		UUID: t.Life.Latest, Experiment: t.Experiment, Trial: t.ID, Task: t.Tasks[0], Reported: began, State: checkpoint.Completed, Steps: 100,
		Metadata: map[string]any{"steps_completed": 100}, Resources: map[string]int64{"model.pt": 1 << 20, "optimizer.pt": 1 << 20, "metadata.json": 30},
	})
}
