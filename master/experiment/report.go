package experiment

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/experiment/change"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/experiment/search"
	"github.com/det-deploy/det-deploy/master/metric"
	"github.com/det-deploy/det-deploy/master/store"
)

// reports handles the reports of programs.
type reports struct{ *shared }

// changeTrial runs a job on the experiment of a trial. It returns the error of do, or NotFound.
func (s *shared) changeTrial(ctx context.Context, trial int32, by string,
	do func(ctx context.Context, tx *store.Tx, d *change.Draft, t record.Trial) error,
) error {
	e, err := s.ofTrial(ctx, trial)
	if err != nil {
		return err
	}
	return s.submit(ctx, e, &job{by: by, do: func(ctx context.Context, tx *store.Tx, d *change.Draft) error {
		t, found := d.Trial(trial)
		if !found {
			return status.Missing("trial", strconv.Itoa(int(trial)))
		}
		return do(ctx, tx, d, t)
	}})
}

// Report stores metrics and passes validations to the search. It returns after the metrics, the
// decision, the trial and the experiment are stored. It is idempotent. Run 0 is the current run;
// Base is ignored. It returns NotFound, InvalidArgument, AlreadyExists if the step has other values,
// ResourceExhausted if the user's quota is exceeded, or FailedPrecondition if the run is not the
// current one.
func (r *reports) Report(ctx context.Context, m metric.Report) error {
	if m.Trial < 1 || m.Trial > math.MaxInt32 {
		return status.Missing("trial", strconv.FormatInt(m.Trial, 10))
	}
	return r.changeTrial(ctx, int32(m.Trial), "", func(ctx context.Context, tx *store.Tx, d *change.Draft, t record.Trial) error {
		if m.Run == 0 { // older clients do not send the run
			m.Run = int64(t.Life.Run)
		}
		switch {
		case t.Life.Run == 0:
			return status.New(status.FailedPrecondition, "trial %d cannot report metrics: it has not started", t.ID)
		case m.Run != int64(t.Life.Run):
			return status.New(status.FailedPrecondition, "run %d of trial %d cannot report metrics: its current run is %d", m.Run, t.ID, t.Life.Run)
		}
		if err := d.Elsewhere().Hear(t.ID); err != nil {
			return refuse(err)
		}
		training := !metric.IsProfiling(m.Group)
		if training {
			t.Base = d.Elsewhere().BaseAt(t, m.Steps)
		}
		m.Base, m.Owner = int64(t.Base), storerOf(d.Record)
		stored, err := r.cfg.Metrics.Put(ctx, tx, m)
		if err == nil && training {
			d.Elsewhere().FixBase(t.ID, t.Base)
		}
		if err != nil || !stored.News() {
			return err
		}
		if stored.Removed > 0 {
			if err := revalidate(ctx, tx, d, t); err != nil {
				return err
			}
		}
		return noteReport(d, t.ID, stored.Merged)
	})
}

// fromProgram runs a job for a program of a trial. It returns NotFound, or FailedPrecondition if
// reports of the program are no longer accepted.
func (r *reports) fromProgram(ctx context.Context, trial int32, do func(ctx context.Context, tx *store.Tx, d *change.Draft) error) error {
	return r.changeTrial(ctx, trial, "", func(ctx context.Context, tx *store.Tx, d *change.Draft, _ record.Trial) error {
		if err := d.Elsewhere().Hear(trial); err != nil {
			return refuse(err)
		}
		return do(ctx, tx, d)
	})
}

// noteReport updates the trial with the known metrics of a step.
func noteReport(d *change.Draft, trial int32, m metric.Report) error {
	if metric.IsProfiling(m.Group) {
		return nil
	}
	steps := int32(min(m.Steps, math.MaxInt32)) //nolint:gosec // it fits
	d.Reports().Train(trial, steps)
	if m.Group != metric.Validation {
		return nil
	}
	return d.Reports().Validate(trial, steps, m.Values.Averages)
}

// revalidate reads the validations of a trial again after a later run has replaced some.
func revalidate(ctx context.Context, tx *store.Tx, d *change.Draft, t record.Trial) error {
	if t.Latest == nil || t.Latest.Steps <= t.Base && t.Best.Steps <= t.Base {
		return nil
	}
	d.Reports().ForgetValidations(t.ID)
	for v, err := range metric.Read(ctx, tx, int64(t.ID), metric.Validation, -1) {
		if err != nil {
			return err
		}
		if v.Steps <= int64(t.Base) {
			d.Reports().Revalidate(t.ID, int32(v.Steps), v.Values.Averages) //nolint:gosec // checked when it was stored
		}
	}
	return nil
}

// ReportProgress sets the progress of a trial, between 0 and 1. It returns the errors of
// fromProgram.
func (r *reports) ReportProgress(ctx context.Context, trial int32, progress float64) error {
	return r.fromProgram(ctx, trial, func(_ context.Context, _ *store.Tx, d *change.Draft) error {
		d.Reports().SetProgress(trial, progress)
		return nil
	})
}

// ReportInvalid records that a program rejected its hyperparameters. It is idempotent during a run.
// It returns NotFound, or InvalidArgument if the trial is not running.
func (r *reports) ReportInvalid(ctx context.Context, trial int32) error {
	return r.changeTrial(ctx, trial, "", func(_ context.Context, _ *store.Tx, d *change.Draft, _ record.Trial) error {
		if !d.Reports().SetInvalid(trial) {
			return status.New(status.InvalidArgument, "trial %d cannot report an early exit: it is not running", trial)
		}
		return nil
	})
}

// SetRunnerState sets the state that a program reports about itself. It returns the errors of
// fromProgram.
func (r *reports) SetRunnerState(ctx context.Context, trial int32, state string) error {
	return r.fromProgram(ctx, trial, func(_ context.Context, _ *store.Tx, d *change.Draft) error {
		d.Reports().SetRunnerState(trial, state)
		return nil
	})
}

// Metadata returns the metadata that a program stored for its trial, or NotFound.
func (r *reports) Metadata(ctx context.Context, trial int32) (map[string]any, error) {
	if _, err := r.ofTrial(ctx, trial); err != nil {
		return nil, err
	}
	d, _, err := record.Docs().Metadata.Get(ctx, r.cfg.Store, record.Key(trial))
	return d.Value, err
}

// SetMetadata replaces the metadata of a trial and returns it. It returns NotFound if the trial does
// not exist.
func (r *reports) SetMetadata(ctx context.Context, trial int32, metadata map[string]any) (map[string]any, error) {
	err := r.changeTrial(ctx, trial, "", func(_ context.Context, tx *store.Tx, _ *change.Draft, t record.Trial) error {
		return record.Docs().Metadata.Put(tx, record.Key(trial), record.Key(t.Experiment), time.Time{}, metadata)
	})
	return metadata, err
}

// StartRun records that a run starts to report. It returns NotFound if the trial does not exist.
func (r *reports) StartRun(ctx context.Context, trial int32) error {
	return r.SetRunnerState(ctx, trial, "")
}

// BestValidation returns the best validation of an experiment by its searcher's metric, and false
// before the first validation. It returns NotFound if the experiment does not exist.
func (r *reports) BestValidation(_ context.Context, id int32) (search.Number, bool, error) {
	e, err := r.reg.find(id)
	if err != nil {
		return 0, false, err
	}
	if best := e.snapshot().Best; best != nil {
		return best.Metric, true, nil
	}
	return 0, false, nil
}
