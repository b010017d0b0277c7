// Package archive packs the files of a task into the archive that its containers unpack.
package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// MaxBytes is the maximum size of a task's files. Clients of Determined 0.38.1 refuse to send more than
// 96 MB; the difference allows for sizes that they count differently.
const MaxBytes = 112 << 20

// PathError reports a file that cannot be unpacked safely.
type PathError struct {
	Path   string
	Reason string
}

func (e *PathError) Error() string {
	return fmt.Sprintf("pack the context: file %q: %s", excerpt.Of(e.Path), e.Reason)
}

// SizeError reports a context that is too large.
type SizeError struct{ Bytes int64 }

func (e *SizeError) Error() string {
	return fmt.Sprintf("pack the context: %d bytes of files exceed the maximum of %d; leave out files that the task does not need, "+
		"for example with a .detignore file", e.Bytes, int64(MaxBytes))
}

// Contents returns the content of a file, by its number, and its size in bytes. Each content is read
// once.
type Contents func(file int) (content io.Reader, size int64)

// Held returns the contents that are in the files themselves.
func Held(files []*apiv1.File) Contents {
	return func(i int) (io.Reader, int64) {
		b := files[i].GetContent()
		return bytes.NewReader(b), int64(len(b))
	}
}

// Has reports whether the files include a regular file of that path.
func Has(files []*apiv1.File, name string) bool {
	return slices.ContainsFunc(files, func(f *apiv1.File) bool { return byte(f.GetType()) != tar.TypeDir && nameOf(f) == name })
}

// Pack writes a compressed tar of files in their order, or nothing if there are no files. The paths stay
// inside the directory in which the archive is unpacked. It returns a *PathError or a *SizeError, which
// are the caller's fault, or the error of reading or writing.
func Pack(to io.Writer, files []*apiv1.File, contents Contents) error {
	if len(files) == 0 {
		return nil
	}
	var total int64
	for i := range files {
		_, size := contents(i)
		total += size
	}
	if total > MaxBytes {
		return &SizeError{total}
	}
	// Speed before size: the archive crosses a local network once per container.
	zip, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil { // unreachable: the level is a constant
		return fmt.Errorf("pack the context: %w", err)
	}
	out := tar.NewWriter(zip)
	known, part := tree{}, make([]byte, 32<<10)
	for i, f := range files {
		if err := known.add(f); err != nil {
			return err
		}
		content, size := contents(i)
		if err := add(out, f, content, size, part); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("pack the context: %w", err)
	}
	if err := zip.Close(); err != nil {
		return fmt.Errorf("pack the context: %w", err)
	}
	return nil
}

// add writes one file. It uses part as the copy buffer.
func add(out *tar.Writer, f *apiv1.File, content io.Reader, size int64, part []byte) error {
	h, err := HeaderOf(f, size)
	if err != nil || h == nil {
		return err
	}
	if err := out.WriteHeader(h); err != nil {
		return &PathError{f.GetPath(), err.Error()}
	}
	if h.Typeflag == tar.TypeReg {
		if _, err := io.CopyBuffer(out, content, part); err != nil {
			return fmt.Errorf("pack the context: %w", err)
		}
	}
	return nil
}

// HeaderOf returns the header of a file with a content of size bytes, or nil for the root of the context.
func HeaderOf(f *apiv1.File, size int64) (*tar.Header, error) {
	name := nameOf(f)
	h := &tar.Header{
		Typeflag: byte(f.GetType()), Name: name, Mode: int64(f.GetMode() & 0o7777), Uid: int(f.GetUid()), Gid: int(f.GetGid()),
		ModTime: time.Unix(f.GetMtime(), 0).UTC(), Format: tar.FormatPAX,
	}
	switch h.Typeflag {
	case 0, tar.TypeReg:
		h.Typeflag, h.Size = tar.TypeReg, size
	case tar.TypeDir:
		h.Name += "/"
		if name == "." {
			return nil, nil //nolint:nilnil // see above
		}
	default:
		return nil, &PathError{f.GetPath(), fmt.Sprintf("has type %d; only files (48) and directories (53) can be sent", f.GetType())}
	}
	return h, nil
}

// IsDirectory reports whether a type of file is that of directories.
func IsDirectory(kind int32) bool { return byte(kind) == tar.TypeDir }

// CheckNames returns a *PathError if files could not be unpacked.
func CheckNames(files []*apiv1.File) error {
	known := tree{}
	for _, f := range files {
		if err := known.add(f); err != nil {
			return err
		}
		h, err := HeaderOf(f, 0)
		if err != nil {
			return err
		}
		if h == nil {
			continue
		}
		if err := tar.NewWriter(io.Discard).WriteHeader(h); err != nil {
			return &PathError{f.GetPath(), err.Error()}
		}
	}
	return nil
}
