package experiment

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	"github.com/det-deploy/det-deploy/master/experiment/config"
)

type continueOptions struct {
	command.Remote

	Overrides []string
}

func newContinue(s *term.Streams) *cobra.Command {
	o := &continueOptions{}
	o.Names = client.Experiments
	c := command.NewRemote(s, o, runContinue, &cobra.Command{
		Use: "continue EXPERIMENT", Short: "Run an ended experiment again from its latest checkpoints",
		Long: `Run an ended experiment again: the trial of a single search, or the trials of a grid or
random search that did not complete, each from its latest checkpoint. Settings of an
experiment with one trial can be changed, for example to train for longer.`,
		Example: "  det-deploy experiment continue 7\n  det-deploy experiment continue 7 --override searcher.max_length.batches=2000",
	})
	addOverrides(c, &o.Overrides, "experiment's configuration")
	return c
}

func runContinue(ctx context.Context, o *continueOptions, master *client.Client) error {
	id, err := command.ReadNumber(noun, o.Args[0])
	if err != nil {
		return err
	}
	override, err := overlay("", o.Overrides)
	if err != nil {
		return err
	}
	reply, err := master.ContinueExperiment(ctx, id, override)
	if err != nil {
		return err
	}
	tellSlots(&o.Local, reply.GetWarnings())
	return o.AnswerNote(reply, "Continuing experiment %d.", id)
}

func addOverrides(c *cobra.Command, to *[]string, what string) {
	c.Flags().StringArrayVar(to, "override", nil, "setting that overrides the "+what+", such as searcher.max_trials=8; repeatable")
}

// overlay returns a configuration with the settings of --override.
func overlay(text string, overrides []string) (string, error) {
	if text == "" && len(overrides) == 0 {
		return "", nil
	}
	d, err := config.Parse([]byte(text), "configuration", overrides)
	if err != nil {
		return "", nameFlag(err)
	}
	raw, err := d.YAML()
	return string(raw), err
}
