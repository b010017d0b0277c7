package experiment

import (
	"context"
	"iter"

	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/definition"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/rm"
	tasklife "github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// View is an experiment as it is shown.
type View struct {
	record.Experiment
	// Shown is its state with the progress of its allocations: one of lifecycle.State, or QUEUED,
	// PULLING, STARTING or RUNNING.
	Shown string
}

// views is how experiments are read.
type views struct{ *shared }

// OfJob is the experiment that a job is.
func (v *views) OfJob(id rm.JobID) (x record.Experiment, found bool) {
	e, err := v.reg.ofJob(id)
	if err != nil {
		return x, false
	}
	return e.snapshot(), true
}

// Get is one experiment. The error has the code NotFound.
func (v *views) Get(id int32) (View, error) {
	e, err := v.reg.find(id)
	if err != nil {
		return View{}, err
	}
	return v.viewOf(e.snapshot(), e), nil
}

// viewOf is an experiment as it is shown; e may be nil for one that has no trials.
func (s *shared) viewOf(x record.Experiment, e *entry) View {
	return View{Experiment: x, Shown: s.shownOf(&x, e)}
}

// shownOf is the state that an experiment is shown in; e may be nil for one that has no trials.
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

// progressOf is how far a run is, nothing for one that is not known.
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

// History is the events of an experiment, the oldest first. The error has the code NotFound.
func (v *views) History(ctx context.Context, id int32) ([]record.Event, error) {
	if _, err := v.reg.find(id); err != nil {
		return nil, err
	}
	search, others := record.EventParents(id)
	return readEvents(ctx, v.cfg.Store, search, others)
}

// ModelDefinition is the packed files of an experiment in parts, and their size in bytes, 0 for none.
// The error has the code NotFound.
func (v *views) ModelDefinition(ctx context.Context, id int32) (int64, iter.Seq2[[]byte, error], error) {
	e, err := v.reg.find(id)
	if err != nil {
		return 0, nil, err
	}
	size := e.snapshot().ModelBytes
	return size, definition.Read(ctx, v.cfg.Store, id, size), nil
}
