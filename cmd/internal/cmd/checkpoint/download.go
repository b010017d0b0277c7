package checkpoint

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
)

type downloadOptions struct {
	command.Remote

	To string
}

func newDownload(s *term.Streams) *cobra.Command {
	o := &downloadOptions{}
	o.Names = client.Checkpoints
	c := command.NewRemote(s, o, runDownload, &cobra.Command{
		Use:   "download CHECKPOINT",
		Short: "Download the files of a checkpoint through the master",
		Long: `Download the files of a checkpoint through the master, which can read the storage of
the cluster and its workspaces, and storage with its own keys. Existing files are
replaced.`,
		Example: "  det-deploy checkpoint download 5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a --to model",
	})
	c.Flags().StringVar(&o.To, "to", "", "directory for the files (default checkpoints/CHECKPOINT)")
	return c
}

// downloaded is the JSON output of download.
type downloaded struct {
	Checkpoint string `json:"checkpoint"`
	Directory  string `json:"directory"`
	Files      int    `json:"files"`
	Bytes      int64  `json:"bytes"`
}

func runDownload(ctx context.Context, o *downloadOptions, master *client.Client) error {
	d := downloaded{Checkpoint: o.Args[0], Directory: o.To}
	if d.Directory == "" {
		d.Directory = filepath.Join("checkpoints", filepath.Base(o.Args[0]))
	}
	body, err := master.DownloadCheckpoint(ctx, o.Args[0])
	if err != nil {
		return err
	}
	err = d.unpack(body)
	if err = errors.Join(err, body.Close()); err != nil {
		return fmt.Errorf("cannot download checkpoint %s to %s: %w", d.Checkpoint, d.Directory, err)
	}
	return o.AnswerNote(d, "Downloaded %s (%d bytes) to %s.", term.Count(d.Files, "file"), d.Bytes, d.Directory)
}

// unpack extracts the files of an archive. It returns an error for a file outside of the directory.
func (d *downloaded) unpack(from io.Reader) error {
	if err := os.MkdirAll(d.Directory, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(d.Directory)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // its files are closed
	z, err := gzip.NewReader(from)
	if err != nil {
		return fmt.Errorf("cannot read the archive: %w", err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && h.Typeflag == tar.TypeReg {
			err = d.writeFile(root, h.Name, r)
		}
		if err != nil {
			return err
		}
	}
}

func (d *downloaded) writeFile(root *os.Root, name string, from io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.Create(name)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, from)
	d.Files++
	d.Bytes += n
	return errors.Join(err, f.Close())
}
