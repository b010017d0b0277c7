package experiment

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/program"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// runs implements task.Owner for the tasks of trials.
type runs struct{ *shared }

// ofTask returns the experiment of a task, whose ID is "<experiment>.<request>". It returns NotFound
// for tasks of other kinds.
func (s *shared) ofTask(id rm.TaskID) (*entry, error) {
	number, _, found := strings.Cut(string(id), ".")
	experiment, err := strconv.ParseInt(number, 10, 32)
	if err != nil || !found { // other task IDs are UUIDs, which may begin with the ID of an experiment
		return nil, status.Missing("task", string(id))
	}
	return s.reg.find(int32(experiment))
}

// Run implements task.Owner.
func (r *runs) Run(ctx context.Context, o task.RunOrder) (spec.Program, error) {
	e, err := r.ofTask(o.Task)
	if err != nil {
		return spec.Program{}, err
	}
	var x record.Experiment
	var c config.Experiment
	var t record.Trial
	found := false
	var written program.Written
	e.readOpen(func(open *change.Experiment) {
		x, c, written = open.Record, open.Config, e.written
		t, found = open.TrialOfTask(string(o.Task))
	})
	if !found || t.Life.Run != o.Run || !t.Life.Running {
		return spec.Program{}, fmt.Errorf("run %d of task %s is not wanted by its trial", o.Run, o.Task)
	}
	err = r.submit(ctx, e, &job{do: func(_ context.Context, _ *store.Tx, d *change.Draft) error {
		d.Runs().Place(t.ID, o.Run, string(o.Assignment.Allocation))
		return nil
	}})
	if err != nil {
		return spec.Program{}, err
	}
	hparams, err := t.ReadHparams(ctx, r.cfg.Store)
	if err != nil {
		return spec.Program{}, err
	}
	if written.IsEmpty() {
		if written, err = e.writeConfig(c); err != nil {
			return spec.Program{}, fmt.Errorf("write the configuration of experiment %d: %w", x.ID, err)
		}
	}
	source, err := r.sourceOf(ctx, t)
	if err != nil {
		return spec.Program{}, err
	}
	p, err := program.Trial{
		Config: c, Written: written, Defaults: o.Defaults, Experiment: int(x.ID), Trial: int(t.ID), Run: o.Run, Seed: int64(t.Seed),
		HParams: hparams, Steps: int64(t.Base), Checkpoint: source,
	}.Program()
	p.HasContext = x.ModelBytes > 0 || x.Context != ""
	return p, err
}

// ProxyPorts implements task.ProxiedOwner.
func (r *runs) ProxyPorts(_ context.Context, id rm.TaskID) ([]spec.ProxyPort, error) {
	e, err := r.ofTask(id)
	if err != nil {
		return nil, err
	}
	var list []spec.ProxyPort
	e.readOpen(func(x *change.Experiment) { list = x.Config.Environment.ProxyPorts })
	return list, nil
}

// sourceOf returns the checkpoint from which the next run of a trial starts.
func (r *runs) sourceOf(ctx context.Context, t record.Trial) (program.Source, error) {
	source := program.Source{UUID: t.Life.Checkpoint()}
	if source.UUID == "" {
		return source, nil
	}
	rec, found, err := checkpoint.Get(ctx, r.cfg.Store, source.UUID)
	if err == nil && found {
		source.Storage, err = checkpoint.StorageOf(ctx, r.cfg.Store, rec.Experiment, rec.Storage)
	}
	if err != nil {
		return source, fmt.Errorf("find checkpoint %s, from which trial %d starts: %w", source.UUID, t.ID, err)
	}
	return source, nil
}

// writeConfig encodes c for the programs of all trials. It caches the result unless the
// configuration has changed meanwhile.
func (e *entry) writeConfig(c config.Experiment) (program.Written, error) {
	w, err := program.Write(c)
	if err != nil {
		return w, err
	}
	e.state.Lock()
	defer e.state.Unlock()
	if e.open != nil && reflect.DeepEqual(e.open.Config, c) {
		e.written = w
	}
	return w, nil
}

// Context implements task.Owner.
func (r *runs) Context(ctx context.Context, id rm.TaskID) (int64, iter.Seq2[[]byte, error], error) {
	e, err := r.ofTask(id)
	if err != nil {
		return 0, nil, err
	}
	return r.archiveOf(ctx, e.snapshot())
}

// Ended implements task.Owner.
func (r *runs) Ended(ctx context.Context, end task.RunEnd) (task.Next, error) {
	e, err := r.ofTask(end.Task)
	if err != nil {
		return task.Done, nil //nolint:nilerr // the experiment was deleted
	}
	verdict, again, ended := lifecycle.Done, task.Again, record.Trial{}
	err = r.submit(ctx, e, &job{do: func(_ context.Context, _ *store.Tx, d *change.Draft) error {
		t, found := d.TrialOfTask(string(end.Task))
		if !found || t.Task() != string(end.Task) {
			return nil
		}
		if m := t.Matched; m != nil && m.Run == end.Run && len(m.Excluded) > 0 {
			again = task.Hold // reconcile starts the next run with an order that excludes the nodes
		}
		before := len(d.Events)
		var err error
		verdict, err = d.Runs().End(t.ID, end.Run, describeEnd(end))
		if len(d.Events) > before { // otherwise the end was reported before
			ended, _ = d.Trial(t.ID)
		}
		return err
	}})
	if err == nil {
		r.logEnd(ctx, ended)
	}
	return map[lifecycle.Verdict]task.Next{lifecycle.Again: again, lifecycle.Held: task.Hold, lifecycle.Done: task.Done}[verdict], err
}

// ChangeJob implements task.Owner.
func (r *runs) ChangeJob(ctx context.Context, by *apiv1.User, id rm.JobID, c rm.Change) error {
	e, err := r.reg.ofJob(id)
	if err != nil {
		return err
	}
	return r.changeQueue(ctx, by, e, c)
}

func describeExit(code int32, note string) string {
	text := fmt.Sprintf("exit code %d", code)
	if note != "" {
		text += "; " + note
	}
	return text
}

// describeEnd converts the end of a run to the terms of package lifecycle.
func describeEnd(end task.RunEnd) lifecycle.RunEnd {
	out := lifecycle.RunEnd{Heeded: end.Heeded, Reason: end.Status}
	switch end.Cause {
	case rm.CauseExited:
		out.Cause = lifecycle.Failed
		if end.Code != nil && *end.Code == 0 {
			out.Cause = lifecycle.Exited
		} else if end.Code != nil {
			out.Reason = describeExit(*end.Code, end.Note)
		}
	case rm.CauseKilled:
		out.Cause = lifecycle.Killed
	case rm.CauseRefused:
		out.Cause = lifecycle.Refused
	case rm.CausePreempted, rm.CauseAgentLost, rm.CauseNotHere:
		out.Cause = lifecycle.Lost
	}
	return out
}
