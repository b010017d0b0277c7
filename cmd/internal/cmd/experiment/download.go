package experiment

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/directory"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/api/client"
)

type downloadOptions struct {
	command.Remote

	To string
}

func newDownload(s *term.Streams) *cobra.Command {
	o := &downloadOptions{}
	o.Names = client.Experiments
	c := command.NewRemote(s, o, runDownload, &cobra.Command{
		Use: "download EXPERIMENT", Short: "Download the files that an experiment was created with",
		Long: `Download the files that an experiment was created with, such as its program. Existing
files are replaced. ` + "`det-deploy checkpoint download --experiment`" + ` downloads its
checkpoints.`,
		Example: "  det-deploy experiment download 7 --to program\n  det-deploy checkpoint download --experiment 7 --best 1",
	})
	c.Flags().StringVar(&o.To, "to", "", "directory for the files (default experiments/EXPERIMENT)")
	return c
}

// downloaded is the JSON output of download.
type downloaded struct {
	Experiment int32  `json:"experiment"`
	Directory  string `json:"directory"`
	directory.Extracted
}

func runDownload(ctx context.Context, o *downloadOptions, master *client.Client) error {
	id, err := command.ReadNumber(noun, o.Args[0])
	if err != nil {
		return err
	}
	body, err := master.ExperimentFiles(ctx, id)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // it was only read
	archive, err := agentv1.ContextArchive(body)
	if err == nil && archive == nil {
		err = fmt.Errorf("experiment %d was created without files", id)
	}
	if err != nil {
		return err
	}
	d := downloaded{Experiment: id, Directory: o.To}
	if d.Directory == "" {
		d.Directory = filepath.Join("experiments", o.Args[0])
	}
	meter := o.NewMeter("Downloading")
	d.Extracted, err = directory.Extract(d.Directory, meter.Count(archive))
	meter.Clear()
	if err != nil {
		return fmt.Errorf("cannot download the files of experiment %d to %s: %w", id, d.Directory, err)
	}
	return o.AnswerNote(d, "Downloaded %s (%d bytes) to %s.", term.Count(d.Files, "file"), d.Bytes, d.Directory)
}
