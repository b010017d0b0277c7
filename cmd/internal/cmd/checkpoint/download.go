package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/directory"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

type downloadOptions struct {
	command.Remote

	To         string
	Experiment string
	Best       int
	Model      string
}

func newDownload(s *term.Streams) *cobra.Command {
	o := &downloadOptions{}
	o.Names = client.Checkpoints
	c := command.NewRemote(s, o, runDownload, &cobra.Command{
		Use:   "download [CHECKPOINT…]",
		Short: "Download the files of checkpoints through the master",
		Long: `Download the files of checkpoints through the master, which can read the storage of the
cluster and its workspaces, and storage with its own keys. Existing files are replaced
when all have arrived. The same command continues an interrupted download.
--model downloads the checkpoint of a model's version, the newest one without a number.
--experiment downloads the completed checkpoints of an experiment, and --best only those
with the best values of its searcher metric. With several checkpoints, --to has a
directory for each.`,
		Example: `  det-deploy checkpoint download 5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a --to model
  det-deploy checkpoint download --experiment 7 --best 1
  det-deploy checkpoint download --model digits:2`,
	})
	f := c.Flags()
	f.StringVar(&o.To, "to", "", "directory for the files (default checkpoints/CHECKPOINT)")
	f.StringVar(&o.Experiment, "experiment", "", "download the completed checkpoints of this experiment")
	f.IntVar(&o.Best, "best", 0, "with --experiment, maximum number of checkpoints, the best first")
	f.StringVar(&o.Model, "model", "", "download the checkpoint of this model's newest version, or of MODEL:VERSION")
	o.CompleteFlag(c, "experiment", client.Experiments)
	o.CompleteFlag(c, "model", client.Models)
	return c
}

// Validate returns an error unless either checkpoints, an experiment or a model are named.
func (o *downloadOptions) Validate() error {
	named := 0
	for _, given := range []bool{len(o.Args) > 0, o.Given("experiment"), o.Given("model")} {
		if given {
			named++
		}
	}
	switch {
	case named == 0:
		return usage.Errorf("CHECKPOINT, --experiment or --model is missing")
	case named > 1:
		return usage.Errorf("use one of CHECKPOINT, --experiment and --model")
	case o.Given("best") && (o.Best < 1 || !o.Given("experiment")):
		return usage.Errorf("--best %d: must be 1 or more, with --experiment", o.Best)
	}
	return nil
}

// downloaded is the JSON output of download for a checkpoint.
type downloaded struct {
	Checkpoint string `json:"checkpoint"`
	Directory  string `json:"directory"`
	directory.Extracted
}

func runDownload(ctx context.Context, o *downloadOptions, master *client.Client) error {
	if o.Given("model") {
		id, err := checkpointOf(ctx, master, o.Model)
		if err != nil {
			return err
		}
		o.Args = []string{id}
	}
	if !o.Given("experiment") && len(o.Args) == 1 {
		d, err := o.download(ctx, master, o.Args[0])
		if err != nil {
			return err
		}
		return o.AnswerJSON(d)
	}
	ids, err := o.chosen(ctx, master)
	if err != nil {
		return err
	}
	done, err := command.ForEach(ids, func(id string) (downloaded, error) { return o.download(ctx, master, id) })
	return errors.Join(err, o.AnswerJSON(map[string]any{"checkpoints": done}))
}

// chosen returns the IDs of the checkpoints to download.
func (o *downloadOptions) chosen(ctx context.Context, master *client.Client) ([]string, error) {
	if !o.Given("experiment") {
		return o.Args, nil
	}
	experiment, err := command.ResolveNumber(ctx, master, client.Experiments, o.Experiment)
	if err != nil {
		return nil, err
	}
	list, err := master.Checkpoints(ctx, client.CheckpointQuery{
		Experiment: experiment, States: []apiv1.Checkpoint_State{apiv1.Checkpoint_STATE_COMPLETED}, Best: o.Best,
	})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("experiment %d has no completed checkpoint", experiment)
	}
	var ids []string
	for _, c := range list {
		ids = append(ids, c.GetUuid())
	}
	return ids, nil
}

// directoryFor returns the directory of a checkpoint's files.
func (o *downloadOptions) directoryFor(id string) string {
	switch {
	case o.To == "":
		return filepath.Join("checkpoints", filepath.Base(id))
	case o.Given("experiment") || len(o.Args) > 1:
		return filepath.Join(o.To, filepath.Base(id))
	}
	return o.To
}

func (o *downloadOptions) download(ctx context.Context, master *client.Client, id string) (downloaded, error) {
	d := downloaded{Checkpoint: id, Directory: o.directoryFor(id)}
	var err error
	if d.Extracted, err = Fetch(ctx, o.Streams, master, id, d.Directory); err != nil {
		return d, err
	}
	o.Tell("Downloaded %s (%d bytes) to %s.", term.Count(d.Files, "file"), d.Bytes, d.Directory)
	return d, nil
}
