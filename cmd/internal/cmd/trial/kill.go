package trial

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func newKill(s *term.Streams) *cobra.Command {
	return command.NewRemote(s, &command.Remote{Names: client.Trials, Open: true}, runKill, &cobra.Command{
		Use: "kill TRIAL…", Short: "Kill trials", Long: "Kill trials immediately. The search continues without them.",
		Example: "  det-deploy trial kill 12",
	})
}

func runKill(ctx context.Context, o *command.Remote, master *client.Client) error {
	killed, err := command.ForEach(o.Args, func(text string) (*apiv1.Trial, error) {
		id, err := command.ReadNumber(noun, text)
		if err != nil {
			return nil, err
		}
		before, _ := master.Trial(ctx, id) // the request itself reports the error
		if err := master.KillTrial(ctx, id); err != nil {
			return nil, err
		}
		if before.GetEndTime() != nil {
			o.Tell("Trial %d has already ended (%s).", id, show.TrialState(before))
		} else {
			o.Tell("Killed trial %d.", id)
		}
		return master.Trial(ctx, id)
	})
	return errors.Join(err, o.AnswerJSON(&apiv1.GetExperimentTrialsResponse{Trials: killed}))
}
