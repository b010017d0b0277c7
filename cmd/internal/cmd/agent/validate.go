package agent

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/config/document"
)

type validateOptions struct {
	*term.Streams

	File   string
	Output term.Format
}

func newValidate(s *term.Streams, run func(context.Context, *validateOptions) error) *cobra.Command {
	o := &validateOptions{Streams: s}
	c := &cobra.Command{
		Use:   "validate FILE",
		Short: "Check an agent.yaml and list every complaint",
		Long: `Check an agent.yaml and list every complaint at once: what is wrong, what is
accepted but has no effect, and what is right but not built yet. Only the first
and the last keep an agent from starting.`,
		Example: "  det-deploy agent config validate /etc/determined/agent.yaml",
		Args:    usage.Args("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			o.File = args[0]
			return run(c.Context(), o)
		},
	}
	o.Output.AddFlag(c.Flags())
	return c
}

// verdict is the answer in JSON.
type verdict struct {
	File     string             `json:"file"`
	Valid    bool               `json:"valid"`
	Problems []document.Problem `json:"problems"`
	NotYet   []document.Problem `json:"not_yet"`
	Warnings []document.Problem `json:"warnings"`
}

func runValidate(_ context.Context, o *validateOptions) error {
	l, err := config.LoadDocument([]string{o.File}, nil)
	v := verdict{File: o.File, Problems: []document.Problem{}, NotYet: []document.Problem{}, Warnings: l.Warnings}
	if problems, found := errors.AsType[document.Errors](err); found {
		v.Problems = problems
	} else if err != nil {
		return err
	} else if notYet := unbuilt(l); notYet != nil {
		problems, _ := errors.AsType[document.Errors](notYet)
		v.NotYet = problems
	}
	v.Valid = len(v.Problems)+len(v.NotYet) == 0
	if o.Output == term.JSON {
		if err := o.PrintJSON(v); err != nil {
			return err
		}
	} else {
		for _, w := range v.Warnings {
			o.Notef("warning: %s", w)
		}
	}
	if v.Valid {
		if o.Output != term.JSON {
			o.Printf("%s is a good agent.yaml", o.File)
		}
		return nil
	}
	return document.Errors(append(v.Problems, v.NotYet...))
}
