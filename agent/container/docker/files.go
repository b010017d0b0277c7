package docker

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/client"
	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/agent/container"
)

// copyFiles copies the task's files as one archive.
func (r *Runtime) copyFiles(ctx context.Context, s container.Spec) error {
	files := filesOf(s)
	if len(files) == 0 {
		return nil
	}
	from, to := io.Pipe()
	var writing errgroup.Group
	writing.Go(func() error {
		err := archiveFiles(to, s, files)
		return errors.Join(err, to.CloseWithError(err)) // a failed writer fails the call
	})
	_, err := r.api.CopyToContainer(ctx, containerName(s.ID), client.CopyToContainerOptions{
		// CopyUIDGID would ignore the owners in the archive.
		DestinationPath: "/", Content: from,
	})
	_ = from.CloseWithError(cmp.Or(err, io.ErrClosedPipe)) // so that the writer ends; closing a pipe never fails
	if wrote := writing.Wait(); err == nil && !errors.Is(wrote, io.ErrClosedPipe) {
		err = wrote
	}
	return err
}

// filesOf returns the files of a task and its work directory.
func filesOf(s container.Spec) []container.File {
	files := slices.Clone(s.Files)
	if isUnder(s.WorkDir, "/run/determined") {
		files = append(files, container.File{Path: s.WorkDir + "/.", Dir: true})
	}
	return files
}

// archiveFiles includes missing parent directories, because those that the engine creates while
// unpacking are accessible only to root.
func archiveFiles(to io.Writer, s container.Spec, files []container.File) error {
	w := tar.NewWriter(to)
	done := map[string]bool{}
	for _, f := range files {
		if f.Dir {
			done[path.Clean(f.Path)] = f.Path == path.Clean(f.Path)
		}
	}
	for _, f := range files {
		if err := writeParents(w, s, path.Dir(f.Path), done); err != nil {
			return err
		}
		if strings.HasSuffix(f.Path, "/.") {
			continue
		}
		if err := writeFile(w, f); err != nil {
			return err
		}
	}
	return w.Close()
}

// writeParents writes the directories above a file, outermost first. Top-level directories like
// /tmp and /etc belong to the image and keep their modes.
func writeParents(w *tar.Writer, s container.Spec, dir string, done map[string]bool) error {
	dir = path.Clean(dir)
	if strings.Count(dir, "/") < 2 || done[dir] {
		return nil
	}
	done[dir] = true
	if err := writeParents(w, s, path.Dir(dir), done); err != nil {
		return err
	}
	f := container.File{Path: dir, Dir: true, Mode: 0o755}
	if s.User != nil && (isUnder(dir, "/run/determined") || s.WorkDir != "" && isUnder(dir, s.WorkDir)) {
		f.UID, f.GID = s.User.UID, s.User.GID
	}
	return writeFile(w, f)
}

func writeFile(w *tar.Writer, f container.File) error {
	h := &tar.Header{
		Name: strings.TrimPrefix(path.Clean(f.Path), "/"), Mode: int64(f.Mode & 0o777),
		Uid: f.UID, Gid: f.GID, ModTime: f.ModTime, Size: f.Size(), Typeflag: tar.TypeReg,
	}
	switch {
	case f.Dir:
		h.Typeflag, h.Size = tar.TypeDir, 0
		h.Name += "/"
	case f.Link != "":
		h.Typeflag, h.Linkname, h.Size, h.Mode = tar.TypeSymlink, f.Link, 0, 0o777
	}
	if h.ModTime.IsZero() {
		h.ModTime = time.Now()
	}
	if err := w.WriteHeader(h); err != nil || h.Typeflag != tar.TypeReg {
		return err
	}
	_, err := f.WriteTo(w)
	return err
}

func isUnder(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}
