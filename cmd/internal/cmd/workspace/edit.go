package workspace

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
)

type editOptions struct {
	settings

	Name string
}

func newEdit(s *term.Streams) *cobra.Command {
	o := &editOptions{}
	o.Names = client.Workspaces
	c := command.NewRemote(s, o, runEdit, &cobra.Command{
		Use: "edit WORKSPACE", Short: "Change a workspace's name, pools, storage, members or Unix account",
		Long: `Change what the flags name. An empty value, as in --storage "" or --members "", removes
the pool, the storage or the members.`,
		Example: "  det-deploy workspace edit vision --default-compute-pool gpu\n  det-deploy workspace edit vision --storage \"\"",
	})
	c.Flags().StringVar(&o.Name, "name", "", "new name of the workspace")
	o.addSettings(c.Flags())
	o.CompleteFlag(c, "default-compute-pool", client.Pools)
	o.CompleteFlag(c, "default-aux-pool", client.Pools)
	return c
}

// Validate returns an error if there is nothing to change.
func (o *editOptions) Validate() error {
	flags := append([]string{"name"}, o.flags()...)
	if !slices.ContainsFunc(flags, o.Given) {
		return usage.Errorf("nothing to change: use --%s", strings.Join(flags, ", --"))
	}
	return nil
}

func runEdit(ctx context.Context, o *editOptions, master *client.Client) error {
	id, err := command.ReadNumber(noun, o.Args[0])
	if err != nil {
		return err
	}
	p, err := o.patch(ctx, master)
	if err != nil {
		return err
	}
	if o.Given("name") {
		p.Name = &o.Name
	}
	w, err := master.PatchWorkspace(ctx, id, p)
	if err != nil {
		return err
	}
	return o.AnswerNote(w, "Updated workspace %s.", w.GetName())
}
