package view

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// ModelDefinition returns the gzipped tar archive of an experiment's files in parts, and its size.
func (e *Experiments) ModelDefinition(ctx context.Context, id int32) (int64, iter.Seq2[[]byte, error], error) {
	return e.cfg.Experiments.ModelDefinition(ctx, id)
}

// FileTree returns the files of an experiment as a tree, without their contents.
func (e *Experiments) FileTree(ctx context.Context, id int32) ([]*apiv1.FileNode, error) {
	t := &tree{root: &apiv1.FileNode{IsDir: true}, nodes: map[string]*apiv1.FileNode{}}
	err := e.readFiles(ctx, id, func(h *tar.Header, r io.Reader) (bool, error) { return true, t.add(h, r) })
	if err != nil {
		return nil, err
	}
	sortTree(t.root)
	return t.root.GetFiles(), nil
}

// largestFile limits the size in bytes of a file that File returns.
const largestFile = 8 << 20

// File returns the content of one file of an experiment. It returns InvalidArgument if the file is
// too large, and NotFound if it does not exist.
func (e *Experiments) File(ctx context.Context, id int32, name string) (content []byte, err error) {
	wanted, found := cleanName(name), false
	err = e.readFiles(ctx, id, func(h *tar.Header, r io.Reader) (bool, error) {
		if cleanName(h.Name) != wanted || h.Typeflag == tar.TypeDir {
			return true, nil
		}
		found = true
		if h.Size > largestFile {
			return false, status.New(status.InvalidArgument, "path: %s has %d bytes; a file of more than %d bytes can only be downloaded with the whole model definition", name, h.Size, largestFile)
		}
		content, err = io.ReadAll(r)
		return false, err
	})
	if err == nil && !found {
		err = status.Missing("file", name)
	}
	return content, err
}

// readFiles calls do for each file until do returns false or an error.
func (e *Experiments) readFiles(ctx context.Context, id int32, do func(*tar.Header, io.Reader) (more bool, err error)) error {
	size, parts, err := e.cfg.Experiments.ModelDefinition(ctx, id)
	if err != nil || size == 0 {
		return err
	}
	r := newPartReader(parts)
	defer r.stop()
	packed, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("read the model definition of experiment %d: %w", id, err)
	}
	files := tar.NewReader(packed)
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the model definition of experiment %d: %w", id, err)
		}
		if more, err := do(h, files); err != nil || !more {
			return err
		}
	}
}

// partReader is an io.Reader over a sequence of parts.
type partReader struct {
	next func() ([]byte, error, bool)
	stop func()
	rest []byte
}

func newPartReader(parts iter.Seq2[[]byte, error]) *partReader {
	next, stop := iter.Pull2(parts)
	return &partReader{next: next, stop: stop}
}

// Read implements io.Reader.
func (r *partReader) Read(b []byte) (int, error) {
	for len(r.rest) == 0 {
		part, err, more := r.next()
		if !more {
			return 0, io.EOF
		}
		if err != nil {
			return 0, err
		}
		r.rest = part
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func cleanName(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

// tree builds the tree of files. It adds directories that have no entry in the archive.
type tree struct {
	root  *apiv1.FileNode
	nodes map[string]*apiv1.FileNode
}

func (t *tree) add(h *tar.Header, content io.Reader) error {
	name := cleanName(h.Name)
	if name == "" {
		return nil
	}
	n := t.node(name)
	n.ModifiedTime = toTime(h.ModTime)
	n.IsDir = n.GetIsDir() || h.Typeflag == tar.TypeDir
	if n.GetIsDir() {
		return nil
	}
	// DetectContentType reads at most 512 bytes.
	begin, err := io.ReadAll(io.LimitReader(content, 512))
	n.ContentLength, n.ContentType = int32(h.Size), http.DetectContentType(begin)
	return err
}

func (t *tree) node(name string) *apiv1.FileNode {
	if name == "" {
		return t.root
	}
	if n, found := t.nodes[name]; found {
		return n
	}
	n := &apiv1.FileNode{Path: name, Name: path.Base(name)}
	t.nodes[name] = n
	above := t.node(cleanName(path.Dir(name)))
	above.IsDir = true
	above.Files = append(above.Files, n)
	return n
}

func sortTree(n *apiv1.FileNode) {
	slices.SortFunc(n.Files, func(a, b *apiv1.FileNode) int { return strings.Compare(a.GetName(), b.GetName()) })
	for _, f := range n.GetFiles() {
		sortTree(f)
	}
}
