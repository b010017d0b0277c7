package experiment

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
)

type deleteOptions struct {
	command.Remote

	KeepFiles bool
	Yes       bool
}

func newDelete(s *term.Streams) *cobra.Command {
	o := &deleteOptions{}
	o.Names = client.Experiments
	c := command.NewRemote(s, o, runDelete, &cobra.Command{
		Use: "delete EXPERIMENT…", Aliases: []string{"rm"}, Short: "Delete ended experiments and their data",
		Long: `Delete ended experiments with their checkpoints, metrics and logs (irreversible). An
experiment cannot be deleted while its checkpoints are in use, for example by a model
version.

Tasks delete the files. If they cannot, for example because the storage or the image no
longer exists, an administrator deletes the records with --keep-files, which prints the
directories that remain.`,
		Example: "  det-deploy experiment delete 7 --yes",
	})
	c.Flags().BoolVar(&o.KeepFiles, "keep-files", false, "delete only the records, and print the directories of the files that remain (administrators only)")
	c.Flags().BoolVarP(&o.Yes, "yes", "y", false, "skip the confirmation")
	return c
}

func runDelete(ctx context.Context, o *deleteOptions, master *client.Client) error {
	question := "Delete experiment " + strings.Join(o.Args, ", ") + " with all checkpoints, metrics and logs?"
	if o.KeepFiles {
		question = "Delete the records, metrics and logs of experiment " + strings.Join(o.Args, ", ") + ", and keep the files?"
	}
	agreed, err := o.Agreed(ctx, o.Yes, question)
	if err != nil || !agreed {
		return err
	}
	if o.KeepFiles {
		return deleteRecords(ctx, o, master)
	}
	remove := change{verb: "delete", done: "Deleting experiment %d.", do: func(ctx context.Context, master *client.Client, id int32) error {
		return master.DeleteExperiment(ctx, id)
	}}
	return remove.run(ctx, &o.Remote, master)
}

// keptFiles are the directories that remain of a deleted experiment.
type keptFiles struct {
	ID    int32    `json:"id"`
	Files []string `json:"keptFiles"`
}

func deleteRecords(ctx context.Context, o *deleteOptions, master *client.Client) error {
	deleted, err := command.ForEach(o.Args, func(text string) (keptFiles, error) {
		id, err := command.ReadNumber(noun, text)
		if err != nil {
			return keptFiles{}, err
		}
		dirs, err := master.DeleteExperimentRecords(ctx, id)
		if err != nil {
			return keptFiles{}, err
		}
		o.Tell("Deleting experiment %d. Directories that remain: %d.", id, len(dirs))
		return keptFiles{id, append([]string{}, dirs...)}, nil
	})
	return errors.Join(err, o.PrintAnswer(map[string]any{"experiments": deleted}, func() error {
		for _, x := range deleted {
			for _, dir := range x.Files {
				o.Printf("%s", dir)
			}
		}
		return nil
	}))
}
