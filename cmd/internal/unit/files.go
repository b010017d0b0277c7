package unit

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// fileSteps returns the steps that write the further files and make the links.
func (u Unit) fileSteps() []Step {
	var steps []Step
	for _, path := range slices.Sorted(maps.Keys(u.Files)) {
		file, text := filepath.Join(u.Root, path), u.Files[path]
		if have, err := os.ReadFile(file); err != nil || !bytes.Equal(have, text) {
			steps = append(steps, Step{"write " + path, func(context.Context) error { return write(file, bytes.NewReader(text), 0o644) }})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(u.Links)) {
		link, to := filepath.Join(u.Root, path), u.Links[path]
		if _, err := os.Lstat(link); errors.Is(err, os.ErrNotExist) {
			steps = append(steps, Step{"link " + path + " to " + to, func(context.Context) error {
				return errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(to, link))
			}})
		}
	}
	return steps
}
