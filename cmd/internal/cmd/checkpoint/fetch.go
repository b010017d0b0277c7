package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/det-deploy/det-deploy/cmd/internal/directory"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// Fetch downloads the files of a checkpoint to a directory, and shows the progress. It continues an earlier
// download.
func Fetch(ctx context.Context, s *term.Streams, master *client.Client, id, dir string) (directory.Extracted, error) {
	files, err := filesOf(ctx, master, id)
	if err != nil {
		return directory.Extracted{}, err
	}
	meter := s.NewMeter("Downloading " + id[:min(len(id), 8)])
	var done, total atomic.Int64
	for _, size := range files.Sizes {
		total.Add(size)
	}
	files.Progress = func(more int64) { meter.Set(done.Add(more), total.Load()) }
	all, err := directory.Download(ctx, dir, files)
	meter.Clear()
	if kind := client.KindOf(err); kind == client.NotFound || kind == client.Unbuilt {
		return fetchArchive(ctx, s, master, id, dir) // from a master of an earlier version
	}
	if err != nil {
		s.Notef("The files so far are in %s. The same command continues.", directory.PartOf(dir, id))
		return all, fmt.Errorf("cannot download checkpoint %s to %s: %w", id, dir, err)
	}
	return all, nil
}

// metadataFile is in every checkpoint, but not always listed.
const metadataFile = "metadata.json"

// filesOf returns the files of a checkpoint.
func filesOf(ctx context.Context, master *client.Client, id string) (directory.Remote, error) {
	c, err := master.Checkpoint(ctx, id)
	if err != nil {
		return directory.Remote{}, err
	}
	files := directory.Remote{ID: id, Sizes: directory.FilesIn(c.GetResources())}
	files.Open = func(ctx context.Context, name string, offset int64) (io.ReadCloser, error) {
		return master.CheckpointFile(ctx, id, name, offset)
	}
	if _, listed := files.Sizes[metadataFile]; listed {
		return files, nil
	}
	body, err := master.CheckpointFile(ctx, id, metadataFile, 0)
	if err != nil {
		return files, ignoreMissing(err)
	}
	metadata, err := io.ReadAll(body)
	if err = errors.Join(err, body.Close()); err != nil {
		return files, fmt.Errorf("cannot download %s of checkpoint %s: %w", metadataFile, id, err)
	}
	files.Sizes[metadataFile] = int64(len(metadata))
	rest := files.Open
	files.Open = func(ctx context.Context, name string, offset int64) (io.ReadCloser, error) {
		if name == metadataFile {
			return io.NopCloser(bytes.NewReader(metadata[offset:])), nil
		}
		return rest(ctx, name, offset)
	}
	return files, nil
}

// ignoreMissing returns nil for a file that does not exist, and for a master of an earlier version, which
// cannot tell.
func ignoreMissing(err error) error {
	if kind := client.KindOf(err); kind == client.NotFound || kind == client.Unbuilt {
		return nil
	}
	return err
}

// fetchArchive downloads the files of a checkpoint as an archive, which cannot be continued.
func fetchArchive(ctx context.Context, s *term.Streams, master *client.Client, id, dir string) (directory.Extracted, error) {
	body, err := master.DownloadCheckpoint(ctx, id)
	if err != nil {
		return directory.Extracted{}, err
	}
	meter := s.NewMeter("Downloading " + id[:min(len(id), 8)])
	all, err := directory.Extract(dir, meter.Count(body))
	meter.Clear()
	if err = errors.Join(err, body.Close()); err != nil {
		return all, fmt.Errorf("cannot download checkpoint %s to %s: %w", id, dir, err)
	}
	return all, os.RemoveAll(directory.PartOf(dir, id))
}
