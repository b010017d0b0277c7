package experiment

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// change is a verb that makes the same request for each experiment.
type change struct {
	verb, short, long string
	// done is the format of the message printed for each experiment.
	done string
	// open is true for a verb that changes only experiments that have not ended.
	open bool
	do   func(ctx context.Context, master *client.Client, id int32) error
}

// request returns a change that the API has under the same name.
func request(verb, short, long, done string) change {
	return change{
		verb: verb, short: short, long: long, done: done, open: verb != "archive" && verb != "unarchive",
		do: func(ctx context.Context, master *client.Client, id int32) error {
			return master.ChangeExperiment(ctx, id, verb)
		},
	}
}

func (v change) command(s *term.Streams) *cobra.Command {
	return command.NewRemote(s, &command.Remote{Names: client.Experiments, Open: v.open}, v.run, &cobra.Command{
		Use: v.verb + " EXPERIMENT…", Short: v.short, Long: v.long, Example: "  det-deploy experiment " + v.verb + " 7",
	})
}

// run makes the request for each experiment and answers with their new state.
func (v change) run(ctx context.Context, o *command.Remote, master *client.Client) error {
	changed, err := command.ForEach(o.Args, func(text string) (*apiv1.Experiment, error) {
		id, err := command.ReadNumber(noun, text)
		if err != nil {
			return nil, err
		}
		before, _ := master.Experiment(ctx, id) // the request itself reports the error
		if err := v.do(ctx, master, id); err != nil {
			return nil, err
		}
		if why := unchanged(v.verb, before.GetExperiment()); why != "" {
			o.Tell("Experiment %d %s.", id, why)
		} else {
			o.Tell(v.done, id)
		}
		reply, err := master.Experiment(ctx, id)
		if client.KindOf(err) == client.NotFound {
			return &apiv1.Experiment{Id: id, State: apiv1.Experiment_STATE_DELETED}, nil
		}
		return reply.GetExperiment(), err
	})
	return errors.Join(err, o.AnswerJSON(&apiv1.GetExperimentsResponse{Experiments: changed}))
}

// unchanged returns the state of an experiment in which a request changes nothing, or "".
func unchanged(verb string, x *apiv1.Experiment) string {
	state, ended := x.GetState(), slices.Contains(endStates(), x.GetState())
	switch {
	case ended && (verb == "kill" || verb == "cancel"):
		return "has already ended (" + show.ExperimentState(x) + ")"
	case verb == "pause" && state == apiv1.Experiment_STATE_PAUSED:
		return "is already paused"
	case verb == "activate" && slices.Contains(activeStates(), state):
		return "is already active (" + show.ExperimentState(x) + ")"
	case verb == "archive" && x.GetArchived():
		return "is already archived"
	case verb == "unarchive" && x != nil && !x.GetArchived():
		return "is not archived"
	case verb == "delete" && state == apiv1.Experiment_STATE_DELETING:
		return "is already being deleted"
	}
	return ""
}

func endStates() []apiv1.Experiment_State {
	return []apiv1.Experiment_State{apiv1.Experiment_STATE_COMPLETED, apiv1.Experiment_STATE_CANCELED, apiv1.Experiment_STATE_ERROR}
}

func activeStates() []apiv1.Experiment_State {
	return []apiv1.Experiment_State{
		apiv1.Experiment_STATE_ACTIVE, apiv1.Experiment_STATE_QUEUED, apiv1.Experiment_STATE_PULLING,
		apiv1.Experiment_STATE_STARTING, apiv1.Experiment_STATE_RUNNING,
	}
}

func newPause(s *term.Streams) *cobra.Command {
	return request("pause", "Pause experiments", "Checkpoint the trials and release their slots until the experiment is activated.", "Paused experiment %d.").command(s)
}

func newActivate(s *term.Streams) *cobra.Command {
	return request("activate", "Resume paused experiments", "Resume the trials of paused experiments from their latest checkpoints.", "Activated experiment %d.").command(s)
}

func newCancel(s *term.Streams) *cobra.Command {
	return request("cancel", "Cancel experiments after their trials have saved checkpoints", "", "Canceling experiment %d. It ends when its trials have saved checkpoints.").command(s)
}

func newKill(s *term.Streams) *cobra.Command {
	return request("kill", "Kill experiments", "Kill experiments immediately. Ended experiments are not changed.", "Killed experiment %d.").command(s)
}

func newArchive(s *term.Streams) *cobra.Command {
	return request("archive", "Hide ended experiments from lists", "", "Archived experiment %d.").command(s)
}

func newUnarchive(s *term.Streams) *cobra.Command {
	return request("unarchive", "Show archived experiments in lists again", "", "Unarchived experiment %d.").command(s)
}
