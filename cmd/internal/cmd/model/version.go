package model

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// versionOptions names a version of a model.
type versionOptions struct {
	command.Remote

	number int32
}

// readVersion parses the argument VERSION.
func (o *versionOptions) readVersion() error {
	n, err := strconv.ParseInt(o.Args[1], 10, 32)
	if err != nil || n < 1 {
		return usage.Errorf("VERSION %s: must be a number as shown by `det-deploy model describe`", o.Args[1])
	}
	o.number = int32(n)
	return nil
}

type editVersionOptions struct {
	versionOptions

	Name, Comment, Notes string
	Labels               []string
}

func newEditVersion(s *term.Streams) *cobra.Command {
	o := &editVersionOptions{}
	o.Nouns = []client.Noun{client.Models, ""}
	c := command.NewRemote(s, o, runEditVersion, &cobra.Command{
		Use: "edit-version MODEL VERSION", Short: "Change the name, comment, notes or labels of a model's version",
		Example: "  det-deploy model edit-version digits 2 --comment \"the one in production\"",
	})
	f := c.Flags()
	f.StringVar(&o.Name, "name", "", "new name of the version")
	f.StringVar(&o.Comment, "comment", "", "comment")
	f.StringVar(&o.Notes, "notes", "", "notes")
	f.StringSliceVarP(&o.Labels, "label", "l", nil, "all labels of the version")
	return c
}

// Validate returns an error if there is nothing to change.
func (o *editVersionOptions) Validate() error {
	if !o.Given("name") && !o.Given("comment") && !o.Given("notes") && !o.Given("label") {
		return usage.Errorf("nothing to change: use --name, --comment, --notes or --label")
	}
	return o.readVersion()
}

// patch returns the changes that the flags request.
func (o *editVersionOptions) patch() *apiv1.PatchModelVersion {
	p := &apiv1.PatchModelVersion{}
	if o.Given("name") {
		p.Name = &o.Name
	}
	if o.Given("comment") {
		p.Comment = &o.Comment
	}
	if o.Given("notes") {
		p.Notes = &o.Notes
	}
	if o.Given("label") {
		p.Labels = listOf(o.Labels)
	}
	return p
}

func listOf(labels []string) *structpb.ListValue {
	out := &structpb.ListValue{}
	for _, l := range labels {
		out.Values = append(out.Values, structpb.NewStringValue(l))
	}
	return out
}

func runEditVersion(ctx context.Context, o *editVersionOptions, master *client.Client) error {
	v, err := master.PatchVersion(ctx, o.Args[0], o.number, o.patch())
	if err != nil {
		return err
	}
	return o.AnswerNote(v, "Updated version %d of model %s.", o.number, v.GetModel().GetName())
}

type deleteVersionOptions struct {
	versionOptions

	Yes bool
}

func newDeleteVersion(s *term.Streams) *cobra.Command {
	o := &deleteVersionOptions{}
	o.Nouns = []client.Noun{client.Models, ""}
	c := command.NewRemote(s, o, runDeleteVersion, &cobra.Command{
		Use: "delete-version MODEL VERSION", Short: "Delete a version of a model",
		Long: `Delete a version of a model (irreversible). Its checkpoint stays, but policies and users
may delete it then. The numbers of other versions stay.`,
		Example: "  det-deploy model delete-version digits 2 --yes",
	})
	c.Flags().BoolVarP(&o.Yes, "yes", "y", false, "skip the confirmation")
	return c
}

// Validate checks the version.
func (o *deleteVersionOptions) Validate() error { return o.readVersion() }

func runDeleteVersion(ctx context.Context, o *deleteVersionOptions, master *client.Client) error {
	v, err := master.ModelVersion(ctx, o.Args[0], o.number)
	if err != nil {
		return err
	}
	name := v.GetModel().GetName()
	question := fmt.Sprintf("Delete version %d of model %s? Programs that load it will fail. This is irreversible.", o.number, name)
	if agreed, err := o.Agreed(ctx, o.Yes, question); err != nil || !agreed {
		return err
	}
	if err := master.DeleteVersion(ctx, o.Args[0], o.number); err != nil {
		return err
	}
	return o.AnswerNote(v, "Deleted version %d of model %s.", o.number, name)
}
