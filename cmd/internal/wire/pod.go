package wire

import (
	"context"
	"io"
	"os"

	"github.com/det-deploy/det-deploy/k8s/podinit"
)

// PodFiles holds the directories of the init container of a task's pod: Order contains its instructions,
// and Files is the volume that it fills.
type PodFiles struct{ Order, Files string }

// InitPod writes the files of a task's pod. It writes its log to out.
func InitPod(ctx context.Context, p PodFiles, out io.Writer, terminal bool) error {
	return podinit.Run(ctx, podinit.Config{OrderDir: p.Order, FilesDir: p.Files, Environ: os.Environ(), Log: hostLog(out, terminal)})
}
