package experiment

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/show"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func newHistory(s *term.Streams) *cobra.Command {
	return command.NewRemote(s, &command.Remote{}, runHistory, &cobra.Command{
		Use: "history EXPERIMENT", Short: "Show what happened to an experiment, and why",
		Long: `Show what happened to an experiment, the oldest first: who asked for what, when
each run began and why it ended, and what the search decided upon which report.`,
		Example: "  det-deploy experiment history 7",
	})
}

func runHistory(ctx context.Context, o *command.Remote, master *client.Client) error {
	id, err := readID(o.Args[0])
	if err != nil {
		return err
	}
	events, err := master.ExperimentHistory(ctx, id)
	if err != nil {
		return err
	}
	t := term.NewTable(">EVENT", "TIME", "BY", "WHAT")
	for _, e := range events {
		t.Row(e.GetNumber(), show.Time(e.GetTime()), e.GetUsername(), e.GetText())
	}
	return o.AnswerTable(&apiv1.GetExperimentHistoryResponse{Events: events}, t)
}
