package master

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

type rehearseOptions struct {
	command.Local
	configFile
}

func newRehearse(s *term.Streams) *cobra.Command {
	o := &rehearseOptions{}
	c := command.New(s, o, runRehearse, &cobra.Command{
		Use:    "rehearse",
		Hidden: true,
		Short:  "Test on a copy of the store whether this version can serve it",
		Long: `Test on a copy of a master's store whether this version can serve it: migrate the copy
and start an idle master on it. The store itself is only read. An upgrade on Kubernetes
runs this while it can still be rolled back; master run --on-hold does the same and keeps
running.`,
		Example: "  det-deploy master rehearse --config-file master.yaml",
	})
	o.addFlags(c.Flags())
	return c
}

// rehearsed is the JSON output of rehearse.
type rehearsed struct {
	Schema     string `json:"schema"`
	SchemaFrom int64  `json:"schema_from"`
	SchemaTo   int64  `json:"schema_to"`
	Tasks      int    `json:"tasks"`
}

func runRehearse(ctx context.Context, o *rehearseOptions) error {
	l, err := o.loadConfig(o.Streams)
	if err != nil {
		return err
	}
	if err := o.listRefusals(l); err != nil {
		return err
	}
	r, err := wire.Rehearse(ctx, l.Master, wire.MasterOptions{Out: o.Err, Terminal: o.ErrTerminal()})
	if err != nil {
		return err
	}
	return o.AnswerNote(rehearsed{"det-deploy.rehearsal/v1", r.SchemaFrom, r.SchemaTo, r.Tasks},
		"This version can serve the store: it would migrate schema %d to %d and resume %s.", r.SchemaFrom, r.SchemaTo, term.Count(r.Tasks, "task"))
}
