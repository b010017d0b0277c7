package wire

import (
	"context"
	"io"
	"os"

	"github.com/det-deploy/det-deploy/k8s/podinit"
)

// PodFiles is where the init container of a task's pod finds its order, and the
// volume that it fills.
type PodFiles struct{ Order, Files string }

// InitPod puts the files of a task's pod in place, writing its own log to out.
func InitPod(ctx context.Context, p PodFiles, out io.Writer, terminal bool) error {
	return podinit.Run(ctx, podinit.Config{OrderDir: p.Order, FilesDir: p.Files, Environ: os.Environ(), Log: hostLog(out, terminal)})
}
