package podinit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// Config is the configuration of an init container.
type Config struct {
	// OrderDir is the directory of the pod's Secret, FilesDir the volume to fill.
	OrderDir, FilesDir string
	// Environ contains the task's variables, as NAME=value.
	Environ []string
	Log     *slog.Logger
	// Patience is how long the master may be unavailable; zero means DefaultPatience.
	Patience time.Duration
}

// DefaultPatience is longer than a restart or an upgrade of the master.
const DefaultPatience = 10 * time.Minute

// Run fills the volume. It may be repeated: existing files are overwritten.
//
// The error is for the task's owner, who sees the last lines of this program's output as the reason
// why the task did not start.
func Run(ctx context.Context, c Config) error {
	order, err := readOrder(c.OrderDir)
	if err != nil {
		return err
	}
	into, err := os.OpenRoot(c.FilesDir)
	if err != nil {
		return fmt.Errorf("open the volume of the task's files: %w", err)
	}
	defer func() { _ = into.Close() }() // nothing was written through it
	if err := unpackFiles(filepath.Join(c.OrderDir, keyFiles), into, order); err != nil {
		return fmt.Errorf("create the files of the task: %w", err)
	}
	if err := writeInfoFiles(into, c.Environ, order.GPUs); err != nil {
		return fmt.Errorf("create the information files of the task: %w", err)
	}
	if order.Context == "" {
		return nil
	}
	s, err := newSource(c, order)
	if err != nil {
		return err
	}
	defer s.client.CloseIdleConnections()
	if err := s.fetchFiles(ctx, into); err != nil {
		return fmt.Errorf("fetch the context directory of task %s: %w", order.Task, err)
	}
	return nil
}

// Paths of the information files in the volume.
const (
	clusterInfoFile   = "run/info/cluster.json"
	resourcesInfoFile = "run/info/resources.json"
)

// writeInfoFiles writes the files with the cluster and resource information. One contains the
// task's token; it is readable by the task's user, which runs this program.
func writeInfoFiles(into *os.Root, environ []string, gpus bool) error {
	if err := rewriteFile(into, clusterInfoFile, agentv1.ClusterInfo(environ)); err != nil || gpus {
		return err
	}
	return rewriteFile(into, resourcesInfoFile, agentv1.ResourcesInfo(nil))
}

func rewriteFile(into *os.Root, name string, content []byte) error {
	if err := into.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	if err := into.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return into.WriteFile(name, content, 0o600)
}

func unpackFiles(name string, into *os.Root, o Order) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	u := unpacker{root: into, uid: o.UID, gid: o.GID}
	return u.unpackArchive(f)
}
