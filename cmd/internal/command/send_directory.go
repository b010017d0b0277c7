package command

import (
	"context"

	"github.com/det-deploy/det-deploy/cmd/internal/directory"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Sent is a directory in a request: the ID of a context or, for a master of an earlier version, the files.
type Sent struct {
	ContextID string
	Files     []*apiv1.File
}

// SendDirectory sends a directory, and shows the progress.
func SendDirectory(ctx context.Context, s *term.Streams, master *client.Client, d *directory.Directory) (Sent, error) {
	if len(d.Files) == 0 {
		return Sent{}, nil
	}
	limits, err := master.ContextLimits(ctx)
	if kind := client.KindOf(err); kind == client.Unbuilt || kind == client.NotFound {
		return Sent{Files: d.Files}, d.Load()
	}
	if err != nil {
		return Sent{}, err
	}
	read, sent := s.NewMeter("Reading files"), s.NewMeter("Sending files")
	id, err := d.Send(ctx, master, limits, directory.Tell{
		Read: read.Set,
		Sent: func(done, total int64) { read.Clear(); sent.Set(done, total) },
	})
	read.Clear()
	sent.Clear()
	return Sent{ContextID: id}, err
}
