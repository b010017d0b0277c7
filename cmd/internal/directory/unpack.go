package directory

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Unpack returns the files of an archive that a master has made of the files of a task. An empty archive has
// none.
func Unpack(archive []byte) ([]*apiv1.File, error) {
	if len(archive) == 0 {
		return nil, nil
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, fmt.Errorf("cannot unpack the files of the task: %w", err)
	}
	var files []*apiv1.File
	for r := tar.NewReader(unzipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("cannot unpack the files of the task: %w", err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return nil, fmt.Errorf("cannot unpack %s of the task: %w", h.Name, err)
		}
		files = append(files, &apiv1.File{
			Path: h.Name, Type: int32(h.Typeflag), Content: content, Mtime: h.ModTime.Unix(), Mode: uint32(h.Mode), //nolint:gosec // permissions
		})
	}
}
