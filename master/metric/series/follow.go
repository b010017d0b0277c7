package series

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/experiment"
)

const (
	// defaultPeriod is the default interval at which an experiment is polled.
	defaultPeriod = 30 * time.Second
	longestPeriod = 3600
)

// follow calls look at each period until all experiments have ended, at least once.
func (s *Series) follow(ctx context.Context, experiments []int32, periodSeconds int32, look func([]experiment.TrialView) error) error {
	if periodSeconds < 0 || periodSeconds > longestPeriod {
		return status.New(status.InvalidArgument, "periodSeconds: must be 0 to %d (%d)", longestPeriod, periodSeconds)
	}
	period := defaultPeriod
	if periodSeconds > 0 {
		period = time.Duration(periodSeconds) * time.Second
	}
	for {
		trials, over, err := s.readTrials(ctx, experiments)
		if err != nil {
			return err
		}
		if err := look(trials); err != nil || over {
			return err
		}
		if err := wait.For(ctx, period); err != nil {
			return err
		}
	}
}

// readTrials returns the trials of experiments, and whether all experiments have ended. It checks
// the ends before it reads the trials, so that no report is missed.
func (s *Series) readTrials(ctx context.Context, experiments []int32) (all []experiment.TrialView, over bool, err error) {
	over = true
	for _, id := range experiments {
		x, err := s.cfg.Experiments.Get(id)
		if err != nil {
			return nil, false, err
		}
		over = over && x.State.Over()
		trials, err := s.cfg.Experiments.Trials(ctx, id)
		if err != nil {
			return nil, false, err
		}
		all = append(all, trials...)
	}
	return all, over, nil
}
