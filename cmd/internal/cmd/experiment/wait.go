package experiment

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// The states of --for.
const (
	ended     = "ended"
	running   = "running"
	succeeded = "succeeded"
)

func newWait(s *term.Streams) *cobra.Command {
	o := &command.Await{Remote: command.Remote{Names: client.Experiments}}
	c := command.NewRemote(s, o, runWait, &cobra.Command{
		Use:   "wait EXPERIMENT…",
		Short: "Wait until experiments have ended or reached a state",
		Long: `Wait until all experiments have ended or reached the state of --for. If an experiment can no
longer reach it, because it ended otherwise, the command fails at once.`,
		Example: "  det-deploy experiment wait 7\n  det-deploy experiment wait --for succeeded --timeout 12h 7 8",
	})
	o.AddAwaitFlags(c, ended, running, succeeded)
	return c
}

func runWait(ctx context.Context, o *command.Await, master *client.Client) error {
	found, err := command.AwaitEach(ctx, o, func(ctx context.Context, text string) (*apiv1.Experiment, []string, error) {
		e, err := fetchExperiment(ctx, master, text)
		if err != nil {
			return nil, nil, err
		}
		open, err := openFor(o.For, e)
		return e, open, err
	})
	if err != nil {
		return err
	}
	for _, e := range found {
		o.Tell("Experiment %d: %s.", e.GetId(), show.ExperimentState(e))
	}
	return o.AnswerJSON(&apiv1.GetExperimentsResponse{Experiments: found})
}

// openFor describes an experiment that has not reached a state. It returns an error if it cannot any more.
func openFor(state string, e *apiv1.Experiment) (open []string, err error) {
	switch {
	case hasReached(state, e.GetState()):
		return nil, nil
	case hasReached(ended, e.GetState()):
		return nil, &missedError{state: state, e: e}
	}
	return []string{fmt.Sprintf("experiment %d is %s", e.GetId(), show.ExperimentState(e))}, nil
}

// hasReached reports whether an experiment in a state has reached the one of --for.
func hasReached(want string, have apiv1.Experiment_State) bool {
	over := []apiv1.Experiment_State{
		apiv1.Experiment_STATE_COMPLETED, apiv1.Experiment_STATE_CANCELED, apiv1.Experiment_STATE_ERROR,
		apiv1.Experiment_STATE_DELETED, apiv1.Experiment_STATE_DELETING, apiv1.Experiment_STATE_DELETE_FAILED,
	}
	switch want {
	case ended:
		return slices.Contains(over, have)
	case running:
		return have == apiv1.Experiment_STATE_RUNNING || have == apiv1.Experiment_STATE_COMPLETED
	}
	return have == apiv1.Experiment_STATE_COMPLETED
}

// missedError reports an experiment that cannot reach a state any more.
type missedError struct {
	state string
	e     *apiv1.Experiment
}

func (e *missedError) Error() string {
	return fmt.Sprintf("experiment %d is not %s: it is %s", e.e.GetId(), e.state, show.ExperimentState(e.e))
}

func (e *missedError) Hint() string {
	return fmt.Sprintf("det-deploy experiment describe %d", e.e.GetId())
}
