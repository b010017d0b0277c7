package experiment

import (
	"context"
	"iter"

	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/rm"
	tasklife "github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// View is an experiment with its displayed state.
type View struct {
	record.Experiment
	// Shown is the displayed state: a lifecycle.State, or QUEUED, PULLING, STARTING or RUNNING for
	// the progress of its allocations.
	Shown string
}

// views reads experiments.
type views struct{ *shared }

// OfJob returns the experiment of a job, and false if no experiment has the job ID.
func (v *views) OfJob(id rm.JobID) (x record.Experiment, found bool) {
	e, err := v.reg.ofJob(id)
	if err != nil {
		return x, false
	}
	return e.snapshot(), true
}

// Get returns an experiment, or NotFound.
func (v *views) Get(id int32) (View, error) {
	e, err := v.reg.find(id)
	if err != nil {
		return View{}, err
	}
	return v.viewOf(e.snapshot(), e), nil
}

// viewOf returns the view of an experiment; e may be nil if it has no trials.
func (s *shared) viewOf(x record.Experiment, e *entry) View {
	return View{Experiment: x, Shown: s.shownOf(&x, e)}
}

// shownOf returns the displayed state of an experiment; e may be nil if it has no trials.
func (s *shared) shownOf(x *record.Experiment, e *entry) string {
	var running []lifecycle.Progress
	if e != nil && x.State == lifecycle.Active && !x.Unmanaged {
		var runs []change.Run
		e.readOpen(func(open *change.Experiment) { runs = open.Runs() })
		for _, r := range runs {
			running = append(running, s.progressOf(r)...)
		}
	}
	return s.show(x, x.State, running)
}

func (s *shared) show(x *record.Experiment, state lifecycle.State, running []lifecycle.Progress) string {
	if x.Unmanaged && state == lifecycle.Active {
		return string(lifecycle.Running)
	}
	return lifecycle.Show(state, running)
}

// progressOf returns the progress of a run, or nothing if the task is unknown.
func (s *shared) progressOf(r change.Run) []lifecycle.Progress {
	st, found := s.cfg.Tasks.Status(rm.TaskID(r.Task))
	if !found || st.Run != r.Run {
		return nil
	}
	switch st.State {
	case tasklife.Queued:
		return []lifecycle.Progress{lifecycle.Queued}
	case tasklife.Pulling:
		return []lifecycle.Progress{lifecycle.Pulling}
	case tasklife.Starting:
		return []lifecycle.Progress{lifecycle.Starting}
	case tasklife.Running, tasklife.Terminating:
		return []lifecycle.Progress{lifecycle.Running}
	case tasklife.Terminated:
	}
	return nil
}

// History returns the events of an experiment, oldest first, or NotFound.
func (v *views) History(ctx context.Context, id int32) ([]record.Event, error) {
	if _, err := v.reg.find(id); err != nil {
		return nil, err
	}
	search, others := record.EventParents(id)
	return readEvents(ctx, v.cfg.Store, search, others)
}

// ModelDefinition returns the packed files of an experiment in parts and their total size in bytes,
// which is 0 without files and negative if it is unknown. It returns NotFound if the experiment does not exist.
func (v *views) ModelDefinition(ctx context.Context, id int32) (int64, iter.Seq2[[]byte, error], error) {
	e, err := v.reg.find(id)
	if err != nil {
		return 0, nil, err
	}
	return v.archiveOf(ctx, e.snapshot())
}
