package task

import (
	"context"
	"strings"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// trialOf returns the trial of a task. It returns noTask if the task is not one of a trial; the IDs of those
// begin with the number of the experiment.
func trialOf(ctx context.Context, master *client.Client, task string, noTask error) (*apiv1.Trial, error) {
	if !strings.Contains(task, ".") {
		return nil, noTask
	}
	id, err := command.ResolveNumber(ctx, master, client.Trials, task)
	if err != nil {
		return nil, noTask
	}
	return master.Trial(ctx, id)
}

func describeTrial(ctx context.Context, o *command.Remote, master *client.Client, noTask error) error {
	m, err := trialOf(ctx, master, o.Args[0], noTask)
	if err != nil {
		return err
	}
	reply, err := master.TrialDetail(ctx, m.GetId())
	if err != nil {
		return err
	}
	if err := o.AnswerPairs(reply, show.Trial(reply.GetTrial())...); err != nil {
		return err
	}
	return o.PrintLastLines("Last lines:", reply.GetLastLines())
}

// killTrial kills the trial of a task. It returns noTask if the task is not one of a trial.
func killTrial(ctx context.Context, o *command.Remote, master *client.Client, task string, noTask error) error {
	m, err := trialOf(ctx, master, task, noTask)
	if err != nil {
		return err
	}
	if err := master.KillTrial(ctx, m.GetId()); err != nil {
		return err
	}
	if m.GetEndTime() != nil {
		o.Tell("Trial %d has already ended (%s).", m.GetId(), show.TrialState(m))
	} else {
		o.Tell("Killed trial %d.", m.GetId())
	}
	return nil
}
