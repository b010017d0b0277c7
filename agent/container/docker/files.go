package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/client"

	"github.com/det-deploy/det-deploy/agent/container"
)

// copyFiles copies the task's files as one archive.
func (r *Runtime) copyFiles(ctx context.Context, s container.Spec) error {
	data, err := archiveFiles(s)
	if err != nil || data == nil {
		return err
	}
	_, err = r.api.CopyToContainer(ctx, containerName(s.ID), client.CopyToContainerOptions{
		// CopyUIDGID would ignore the owners in the archive.
		DestinationPath: "/", Content: bytes.NewReader(data),
	})
	return err
}

// archiveFiles includes missing parent directories, because those that the engine creates while
// unpacking are accessible only to root.
func archiveFiles(s container.Spec) ([]byte, error) {
	files := slices.Clone(s.Files)
	if isUnder(s.WorkDir, "/run/determined") {
		files = append(files, container.File{Path: s.WorkDir + "/.", Dir: true})
	}
	if len(files) == 0 {
		return nil, nil
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	done := map[string]bool{}
	for _, f := range files {
		if f.Dir {
			done[path.Clean(f.Path)] = f.Path == path.Clean(f.Path)
		}
	}
	for _, f := range files {
		if err := writeParents(w, s, path.Dir(f.Path), done); err != nil {
			return nil, err
		}
		if strings.HasSuffix(f.Path, "/.") {
			continue
		}
		if err := writeFile(w, f); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
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
		Uid: f.UID, Gid: f.GID, ModTime: f.ModTime, Size: int64(len(f.Content)), Typeflag: tar.TypeReg,
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
	_, err := w.Write(f.Content)
	return err
}

func isUnder(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}
