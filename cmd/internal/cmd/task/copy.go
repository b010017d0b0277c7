package task

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/directory"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
)

type copyOptions struct {
	command.Remote

	Rank int
}

func newCopy(s *term.Streams) *cobra.Command {
	o := &copyOptions{}
	c := command.New(s, o, runCopy, &cobra.Command{
		Use:   "cp {TASK:PATH PATH | PATH TASK:PATH}",
		Args:  usage.Args("FROM", "TO"),
		Short: "Copy files from and to a running task",
		Long: `Copy a file or a directory from the container of a running task, or into it. If the target is
a directory, the copy is made in it; otherwise it gets the target's name. Existing files are
replaced. In the container, paths are relative to the working directory of the task, and files
are read and written as its user. "-" is an archive of tar: copied from a task it goes to
standard output, and copied to a task it is unpacked from standard input into a directory.

Copied from a task, links that lead elsewhere and devices are left out, and nothing is written
outside of the target. TASK may be the task of a trial, or the trial itself: its number or
EXPERIMENT.N. Pods need an image with tar.`,
		Example: `  det-deploy task cp 5d1f6f2e:results.json .
  det-deploy task cp data 5d1f6f2e:/tmp
  det-deploy task cp 5d1f6f2e:/tmp/profile - | tar t`,
	})
	c.Flags().IntVar(&o.Rank, "rank", 0, "rank of the process whose container is meant")
	return c
}

// copyPlace is a file in a task, or here if task is empty.
type copyPlace struct{ task, path string }

// parsePlace parses TASK:PATH or PATH. A path here that contains a colon begins with "./" or "/".
func parsePlace(text string) copyPlace {
	task, p, found := strings.Cut(text, ":")
	if !found || task == "" || strings.ContainsAny(task, "/\\") || task == "." {
		return copyPlace{path: text}
	}
	return copyPlace{task, p}
}

// Validate checks the command line.
func (o *copyOptions) Validate() error {
	from, to := parsePlace(o.Args[0]), parsePlace(o.Args[1])
	switch {
	case (from.task == "") == (to.task == ""):
		return usage.Errorf("either FROM or TO must be TASK:PATH (they are %q and %q); a path here with a colon begins with ./", o.Args[0], o.Args[1])
	case from.path == "" || to.path == "":
		return usage.Errorf("PATH is missing after %q; \".\" is the working directory of the task", from.task+to.task+":")
	case to.path == "-" && to.task == "" && o.OutTerminal():
		return usage.Errorf("standard output is a terminal, which cannot show an archive; use a pipe, or a file instead of -")
	case o.Rank < 0:
		return usage.Errorf("--rank %d: must be 0 or more", o.Rank)
	}
	return nil
}

func runCopy(ctx context.Context, o *copyOptions) error {
	master, err := o.Dial(o.Streams)
	if err != nil {
		return err
	}
	defer master.Close()
	from, to := parsePlace(o.Args[0]), parsePlace(o.Args[1])
	id, err := resolveTask(ctx, master, from.task+to.task)
	if err != nil {
		return err
	}
	in := client.Process{Task: id, Rank: o.Rank}
	if from.task != "" {
		return o.copyOut(ctx, master, in, from.path, to.path)
	}
	return o.copyIn(ctx, master, in, from.path, to.path)
}

// copyOut copies from a task.
func (o *copyOptions) copyOut(ctx context.Context, master *client.Client, in client.Process, from, to string) error {
	archive, err := master.ReadFiles(ctx, in, from)
	if err != nil {
		return err
	}
	defer func() { _ = archive.Close() }()
	if to == "-" {
		_, err := io.Copy(o.Out, archive)
		return err
	}
	meter := o.NewMeter("Copying from the task")
	got, err := directory.CopyOut(to, from, &metered{from: archive, meter: meter})
	meter.Clear()
	if err != nil {
		return err
	}
	if got.LeftOut > 0 {
		o.Notef("warning: left out %s that lead elsewhere or are no files.", term.Count(got.LeftOut, "entry"))
	}
	return o.AnswerNote(got, "Copied %s (%s) to %s.", term.Count(got.Files, "file"), term.FormatBytes(got.Bytes), got.To)
}

// copyIn copies to a task.
func (o *copyOptions) copyIn(ctx context.Context, master *client.Client, in client.Process, from, to string) error {
	if from == "-" {
		return master.WriteFiles(ctx, in, to, o.In)
	}
	dir, name, err := target(ctx, master, in, from, to)
	if err != nil {
		return err
	}
	archive, sent := directory.CopyIn(from, name)
	defer func() { _ = archive.Close() }()
	meter := o.NewMeter("Copying to the task")
	err = master.WriteFiles(ctx, in, dir, &metered{from: archive, meter: meter})
	meter.Clear()
	count, scanErr := sent()
	if scanErr != nil {
		return scanErr // the reason of err
	}
	if err != nil {
		return err
	}
	return o.AnswerNote(count, "Copied %s (%s) to %s.", term.Count(count.Files, "file"), term.FormatBytes(count.Bytes), path.Join(dir, name))
}

// target returns the directory in a task in which the copy is made, and its name.
func target(ctx context.Context, master *client.Client, in client.Process, from, to string) (dir, name string, err error) {
	name, err = directory.NameOf(from)
	if err != nil {
		return "", "", err
	}
	if strings.HasSuffix(to, "/") || strings.HasSuffix(to, "/.") || to == "." || to == ".." {
		return to, name, nil
	}
	found, err := isDirectory(ctx, master, in, to)
	if err != nil || found {
		return to, name, err
	}
	return path.Dir(to), path.Base(to), nil
}

// isDirectory reports whether a path in a task is an existing directory.
func isDirectory(ctx context.Context, master *client.Client, in client.Process, at string) (bool, error) {
	archive, err := master.ReadFiles(ctx, in, at)
	if client.KindOf(err) == client.Invalid {
		return false, nil // there is nothing, or writing will say why
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = archive.Close() }()
	h, err := tar.NewReader(archive).Next()
	if err != nil && !errors.Is(err, io.EOF) {
		return false, nil // as above
	}
	return err == nil && h.Typeflag == tar.TypeDir, nil
}

// metered shows how many bytes are read.
type metered struct {
	from  io.Reader
	meter *term.Meter
	read  int64
}

// Read implements io.Reader.
func (m *metered) Read(b []byte) (int, error) {
	n, err := m.from.Read(b)
	m.read += int64(n)
	m.meter.Set(m.read, 0)
	return n, err
}
