package project

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type editOptions struct {
	command.Remote

	Name        string
	Description string
	Key         string
}

func newEdit(s *term.Streams) *cobra.Command {
	o := &editOptions{}
	o.Names = client.Projects
	c := command.NewRemote(s, o, runEdit, &cobra.Command{
		Use: "edit PROJECT", Short: "Change a project's name, description or key",
		Example: "  det-deploy project edit vision/faces --name people",
	})
	c.Flags().StringVar(&o.Name, "name", "", "new name of the project")
	c.Flags().StringVar(&o.Description, "description", "", "description")
	c.Flags().StringVar(&o.Key, "project-key", "", "unique key of at most five letters and digits")
	return c
}

// Validate returns an error if there is nothing to change.
func (o *editOptions) Validate() error {
	if !o.Given("name") && !o.Given("description") && !o.Given("project-key") {
		return usage.Errorf("nothing to change: use --name, --description or --project-key")
	}
	return nil
}

func runEdit(ctx context.Context, o *editOptions, master *client.Client) error {
	id, err := command.ReadNumber(noun, o.Args[0])
	if err != nil {
		return err
	}
	in := &apiv1.PatchProject{}
	if o.Given("name") {
		in.Name = &o.Name
	}
	if o.Given("description") {
		in.Description = &o.Description
	}
	if o.Given("project-key") {
		in.Key = &o.Key
	}
	p, err := master.PatchProject(ctx, id, in)
	if err != nil {
		return err
	}
	return o.AnswerNote(p, "Updated project %s.", pathOf(p))
}
