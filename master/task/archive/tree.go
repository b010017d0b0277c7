package archive

import (
	"archive/tar"
	"fmt"
	"path"
	"strings"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

const (
	// nameBytes is the maximum length of a file name on Linux.
	nameBytes = 255
	// pathBytes leaves room for the directory in which the files are unpacked: Linux paths have at most
	// 4096 bytes.
	pathBytes = 3840
)

// tree maps the names added so far to true for a directory and false for a file. It rejects files that
// could not be unpacked while the client still waits for an answer.
type tree map[string]bool

func nameOf(f *apiv1.File) string { return path.Clean(strings.TrimRight(f.GetPath(), "/")) }

func (t tree) add(f *apiv1.File) error {
	if reason := unusable(f.GetPath()); reason != "" {
		return &PathError{f.GetPath(), reason}
	}
	name, directory := nameOf(f), byte(f.GetType()) == tar.TypeDir
	if name == "." {
		if !directory {
			return &PathError{f.GetPath(), "is the root of the context and cannot be a file"}
		}
		return nil
	}
	was, found := t[name]
	switch {
	case found && was != directory:
		return &PathError{f.GetPath(), "was sent as a file and as a directory"}
	case found && !directory:
		return &PathError{f.GetPath(), "was sent twice"}
	}
	t[name] = directory
	for parent := path.Dir(name); parent != "."; parent = path.Dir(parent) {
		was, found := t[parent]
		if found && !was {
			return &PathError{f.GetPath(), fmt.Sprintf("is below %q, which was sent as a file", excerpt.Of(parent))}
		}
		if found {
			break // its parents are there as well
		}
		t[parent] = true
	}
	return nil
}

// unusable returns why a file cannot have the name, or "" for a valid name.
func unusable(name string) string {
	switch {
	case name == "":
		return "has no name"
	case path.IsAbs(name):
		return "must be a relative path"
	case strings.ContainsRune(name, 0):
		return "must not contain a zero byte"
	case len(name) > pathBytes:
		return fmt.Sprintf("has a path of %d bytes; the maximum is %d", len(name), pathBytes)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "must not contain .."
		}
		if len(part) > nameBytes {
			return fmt.Sprintf("has a name of %d bytes; the maximum is %d", len(part), nameBytes)
		}
	}
	return ""
}
