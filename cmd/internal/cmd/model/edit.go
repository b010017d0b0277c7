package model

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
	Notes       string
	Labels      []string
}

func newEdit(s *term.Streams) *cobra.Command {
	o := &editOptions{}
	o.Names = client.Models
	c := command.NewRemote(s, o, runEdit, &cobra.Command{
		Use: "edit MODEL", Short: "Change a model's name, description, notes or labels",
		Example: "  det-deploy model edit digits --description \"Handwritten digits\" --label production",
	})
	f := c.Flags()
	f.StringVar(&o.Name, "name", "", "new name of the model")
	f.StringVar(&o.Description, "description", "", "description")
	f.StringVar(&o.Notes, "notes", "", "notes")
	f.StringSliceVarP(&o.Labels, "label", "l", nil, "all labels of the model")
	return c
}

// Validate returns an error if there is nothing to change.
func (o *editOptions) Validate() error {
	if !o.Given("name") && !o.Given("description") && !o.Given("notes") && !o.Given("label") {
		return usage.Errorf("nothing to change: use --name, --description, --notes or --label")
	}
	return nil
}

// patch returns the changes that the flags request.
func (o *editOptions) patch() *apiv1.PatchModel {
	p := &apiv1.PatchModel{}
	if o.Given("name") {
		p.Name = &o.Name
	}
	if o.Given("description") {
		p.Description = &o.Description
	}
	if o.Given("notes") {
		p.Notes = &o.Notes
	}
	if o.Given("label") {
		p.Labels = listOf(o.Labels)
	}
	return p
}

func runEdit(ctx context.Context, o *editOptions, master *client.Client) error {
	m, err := master.PatchModel(ctx, o.Args[0], o.patch())
	if err != nil {
		return err
	}
	return o.AnswerNote(m, "Updated model %s.", m.GetName())
}
