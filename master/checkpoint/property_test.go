package checkpoint_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/master/task/spec"
	"github.com/det-deploy/det-deploy/test/storetest"
)

// machine runs the tasks of deletions. Tasks delete their checkpoints, fail, vanish, or report
// twice.
type machine struct {
	t *testing.T
	// check is called with the checkpoints of a task before it deletes them.
	check   func(uuids []string)
	patch   func(ctx context.Context, taskID, uuid string) error
	running sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	owner task.Owner // the owner in the current master
	rand  *rand.Rand
	ran   map[string]int // the latest run by task
	// calm makes every task succeed.
	calm bool
}

// serve sets the owner after a restart of the master.
func (m *machine) serve(o task.Owner) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owner = o
}

func (m *machine) present() task.Owner {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.owner
}

// Start implements checkpoint.Tasks.
func (m *machine) Start(ctx context.Context, o task.StartOrder) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ran[string(o.Task)] >= o.Run {
		return nil
	}
	m.ran[string(o.Task)] = o.Run
	m.running.Go(func() { m.run(context.WithoutCancel(ctx), o) })
	return nil
}

// End implements checkpoint.Tasks.
func (m *machine) End(context.Context, rm.TaskID, string) error { return nil }

// Change implements checkpoint.Tasks.
func (m *machine) Change(context.Context, rm.JobID, rm.Change) error { return nil }

// BoardsOf implements checkpoint.Tasks.
func (m *machine) BoardsOf(int32) []rm.TaskID { return nil }

func (m *machine) roll(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calm {
		return -1
	}
	return m.rand.IntN(n)
}

// run executes one run of a task.
func (m *machine) run(ctx context.Context, o task.StartOrder) {
	program, err := m.present().Run(ctx, task.RunOrder{Task: o.Task, Job: o.Job, Run: o.Run})
	if err != nil {
		m.t.Errorf("run task %s: %v", o.Task, err)
		return
	}
	uuids := toldOf(m.t, program)
	m.check(uuids)
	end := task.RunEnd{Task: o.Task, Job: o.Job, Run: o.Run, Cause: rm.CauseExited, Code: pointer(int32(0)), Status: "exited"}
	switch m.roll(5) {
	case 0: // it fails before it reports
		end.Code, end.Status = pointer(int32(1)), "no space"
	case 1: // its machine vanishes after it has reported one checkpoint
		end.Cause, end.Code = rm.CauseAgentLost, nil
		m.report(ctx, o, uuids[:1])
	default:
		m.report(ctx, o, uuids)
	}
	if m.roll(4) == 0 {
		m.end(ctx, end)
	}
	m.end(ctx, end)
}

func (m *machine) report(ctx context.Context, o task.StartOrder, uuids []string) {
	for _, uuid := range uuids {
		if err := m.patch(ctx, string(o.Task), uuid); err != nil {
			m.t.Errorf("report %s: %v", uuid, err)
		}
	}
}

func (m *machine) end(ctx context.Context, e task.RunEnd) {
	if _, err := m.present().Ended(ctx, e); err != nil {
		m.t.Errorf("end of task %s: %v", e.Task, err)
	}
}

// toldOf returns the checkpoints that a program is to delete.
func toldOf(t *testing.T, p spec.Program) (uuids []string) {
	t.Helper()
	at := slices.IndexFunc(p.Files, func(f *apiv1.File) bool { return strings.HasSuffix(f.GetPath(), "/delete.json") })
	if at < 0 {
		t.Fatal("the task has no list of checkpoints")
	}
	if err := json.Unmarshal(p.Files[at].GetContent(), &uuids); err != nil {
		t.Fatal(err)
	}
	return uuids
}

// life is a cluster in which all operations run concurrently.
type life struct {
	t *testing.T
	s *store.Store
	c *checkpoint.Checkpoints
	m *machine

	// turn is held for reading by operations on a master, and for writing while the master is
	// replaced.
	turn sync.RWMutex

	mu sync.Mutex
	// needed maps users to the checkpoints that they need. A need is added after it was stored and
	// removed before it is released, so that every entry is really in use.
	needed map[string]string
	given  map[string]bool
	uuids  []string
	number int
}

const trials = 3

func newLife(t *testing.T, seed uint64) *life {
	l := &life{t: t, s: storetest.New(t), needed: map[string]string{}, given: map[string]bool{}}
	putExperiment(t, l.s, 1, lifecycle.Completed, configuration(1, 1, 1))
	for id := range int32(trials) {
		putTrial(t, l.s, id+1, lifecycle.Trial{State: lifecycle.Active})
	}
	l.m = &machine{t: t, check: l.checkGiven, rand: rand.New(rand.NewPCG(seed, 1)), ran: map[string]int{}}
	l.m.patch = func(ctx context.Context, taskID, uuid string) error {
		return l.checkpoints().PatchAll(ctx, checkpoint.Reporter{Task: taskID}, []checkpoint.Patch{{UUID: uuid}})
	}
	l.restart()
	return l
}

func (l *life) checkpoints() *checkpoint.Checkpoints {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.c
}

// restart discards all state in memory.
func (l *life) restart() {
	l.turn.Lock()
	defer l.turn.Unlock()
	c := open(l.t, checkpoint.Config{Store: l.s, Tasks: l.m, Backoff: time.Millisecond})
	l.mu.Lock()
	defer l.mu.Unlock()
	for who := range l.needed {
		if strings.HasPrefix(who, "download") {
			delete(l.needed, who)
		}
	}
	l.c = c
	l.m.serve(c.Owner())
}

func (l *life) checkGiven(uuids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, uuid := range uuids {
		l.given[uuid] = true
		for who, needs := range l.needed {
			if needs == uuid {
				l.t.Errorf("a task was told to delete checkpoint %s, which %s needs", uuid, who)
			}
		}
	}
}

// need records a stored need.
func (l *life) need(who, uuid string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.given[uuid] {
		l.t.Errorf("%s may use checkpoint %s, which a task was told to delete", who, uuid)
	}
	l.needed[who] = uuid
}

func (l *life) leave(who string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.needed, who)
}

func (l *life) pick(r *rand.Rand) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.uuids) == 0 {
		return "none"
	}
	return l.uuids[r.IntN(len(l.uuids))]
}

// report saves a checkpoint of a trial that continues from it.
func (l *life) report(ctx context.Context, r *rand.Rand) {
	l.mu.Lock()
	l.number++
	steps := int32(l.number)
	uuid := fmt.Sprintf("c%d", steps)
	l.mu.Unlock()
	trial := 1 + r.Int32N(trials)
	who := fmt.Sprintf("trial %d", trial)
	err := l.s.Write(ctx, func(tx *store.Tx) error {
		l.leave(who) // done here, so that no other worker records its needs before this is stored
		doc, _, err := record.Docs().Trials.Get(ctx, tx, record.Key(trial))
		if err != nil {
			return err
		}
		if doc.Value.LatestSteps < steps {
			doc.Value.Life.Latest, doc.Value.LatestSteps = uuid, steps
		}
		if err := record.Docs().Trials.Put(tx, doc.ID, doc.Parent, doc.At, doc.Value); err != nil {
			return err
		}
		return checkpoint.Put(ctx, tx, saved(uuid, trial, steps))
	})
	if err != nil {
		l.t.Errorf("report: %v", err)
	}
	l.mu.Lock()
	l.uuids = append(l.uuids, uuid)
	l.mu.Unlock()
	_ = l.s.Write(ctx, func(tx *store.Tx) error {
		doc, _, err := record.Docs().Trials.Get(ctx, tx, record.Key(trial))
		if err == nil {
			l.need(who, doc.Value.Life.Latest)
		}
		return err
	})
}

// register makes one of three versions refer to another checkpoint, or to none.
func (l *life) register(ctx context.Context, r *rand.Rand) {
	version := r.Int32N(3)
	who, uuid := fmt.Sprintf("version %d", version), l.pick(r)
	referrer := checkpoint.VersionOf(1, "m", version)
	err := l.s.Write(ctx, func(tx *store.Tx) error {
		l.leave(who)
		if r.IntN(4) == 0 {
			return checkpoint.Release(tx, referrer)
		}
		_, err := checkpoint.Refer(ctx, tx, referrer, uuid)
		return err
	})
	if err == nil && r.IntN(2) == 0 { // another worker may have changed it since
		l.confirm(ctx, who, referrer)
	}
}

// confirm records the checkpoint of a version inside a transaction.
func (l *life) confirm(ctx context.Context, who string, referrer checkpoint.Referrer) {
	_ = l.s.Write(ctx, func(tx *store.Tx) error {
		uuid, found, err := checkpoint.ReferredTo(ctx, tx, referrer)
		if err == nil && found {
			l.need(who, uuid)
		}
		return err
	})
}

// launch starts a trial from a checkpoint. The trial then exists until the end.
func (l *life) launch(ctx context.Context, r *rand.Rand) {
	uuid := l.pick(r)
	l.mu.Lock()
	l.number++
	id := int32(100 + l.number)
	l.mu.Unlock()
	err := l.s.Write(ctx, func(tx *store.Tx) error {
		if _, err := checkpoint.CheckSource(ctx, tx, uuid); err != nil {
			return err
		}
		return record.Docs().Sources.Put(tx, record.Key(id), uuid, start, struct{}{})
	})
	if err == nil {
		l.need(fmt.Sprintf("warm start of trial %d", id), uuid)
	}
}

func (l *life) download(ctx context.Context, r *rand.Rand) {
	who := fmt.Sprintf("download %d", r.Int())
	release := l.hold(ctx, who, l.pick(r))
	defer release()
	defer l.leave(who)
	<-time.After(time.Duration(r.IntN(20)) * time.Millisecond) // other operations run during the download
}

// hold starts reading a checkpoint, if it may be read.
func (l *life) hold(ctx context.Context, who, uuid string) (release func()) {
	l.turn.RLock()
	defer l.turn.RUnlock()
	_, release, err := l.checkpoints().Hold(ctx, uuid)
	if err != nil {
		return func() {}
	}
	l.need(who, uuid)
	return release
}

func (l *life) remove(ctx context.Context, r *rand.Rand) {
	l.turn.RLock()
	defer l.turn.RUnlock()
	uuids := []string{l.pick(r), l.pick(r)}
	_ = l.checkpoints().Delete(ctx, checkpoint.Order{ // refused if one of them is in use
		UUIDs: slices.Compact(uuids), Globs: checkpoint.AllFiles(), May: func(int32) error { return nil },
	})
}

// collect applies another policy.
func (l *life) collect(ctx context.Context, r *rand.Rand) {
	data, err := configuration(r.IntN(3), r.IntN(2), r.IntN(2)).Store()
	if err != nil {
		l.t.Error(err)
	}
	c := l.checkpoints()
	err = l.s.Write(ctx, func(tx *store.Tx) error {
		if err := record.Docs().Configs.Put(tx, record.Key(1), "", start, record.Config{Complete: data}); err != nil {
			return err
		}
		return c.Collect(tx, 1)
	})
	if err != nil {
		l.t.Error(err)
	}
	c.Wake()
}

// runMaster runs the loop and crashes repeatedly.
func (l *life) runMaster(ctx context.Context, r *rand.Rand, crashes int) {
	for range crashes {
		run, crash := context.WithTimeout(ctx, time.Duration(20+r.IntN(60))*time.Millisecond)
		if err := l.checkpoints().Run(run); err != nil {
			l.t.Error(err)
		}
		crash()
		l.restart()
	}
	if err := l.checkpoints().Run(ctx); err != nil {
		l.t.Error(err)
	}
}

// Checkpoints are reported, registered, started from, downloaded, collected and deleted concurrently
// while the master crashes and tasks fail. No checkpoint in use may be passed to a deletion, and no
// checkpoint that was passed to one may come into use.
func TestReferencedObjectsAreNotDeleted(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			l := newLife(t, seed)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var master, workers sync.WaitGroup
			master.Go(func() { l.runMaster(ctx, rand.New(rand.NewPCG(seed, 2)), 5) })
			for w := range uint64(4) {
				workers.Go(func() { l.work(ctx, rand.New(rand.NewPCG(seed, 10+w)), 120) })
			}
			workers.Wait()
			l.finish(stop, &master)
		})
	}
}

func (l *life) work(ctx context.Context, r *rand.Rand, steps int) {
	deeds := []func(context.Context, *rand.Rand){l.report, l.report, l.register, l.launch, l.download, l.remove, l.collect}
	for range steps {
		deeds[r.IntN(len(deeds))](ctx, r)
	}
}

// finish lets every deletion succeed and then checks the remaining checkpoints.
func (l *life) finish(stop func(), master *sync.WaitGroup) {
	l.m.mu.Lock()
	l.m.calm = true
	l.m.mu.Unlock()
	deadline := time.Now().Add(time.Minute)
	for n := l.deleting(); n > 0; n = l.deleting() {
		if time.Now().After(deadline) {
			l.t.Fatalf("%d checkpoints are still DELETING", n)
		}
		l.checkpoints().Wake()
		<-time.After(5 * time.Millisecond)
	}
	stop()
	master.Wait()
	l.m.running.Wait()
	for who, uuid := range maps.All(l.needed) {
		if got := stateOf(l.t, l.s, uuid); got != checkpoint.Completed {
			l.t.Errorf("%s needs checkpoint %s, which is %s", who, uuid, got)
		}
	}
	if len(l.given) == 0 {
		l.t.Error("no checkpoint was deleted at all")
	}
}

func (l *life) deleting() (n int) {
	all, err := checkpoint.OfTrials(l.t.Context(), l.s, 1, 2, 3)
	if err != nil {
		l.t.Error(err)
	}
	for _, rec := range all {
		if rec.State == checkpoint.Deleting {
			n++
		}
	}
	return n
}
