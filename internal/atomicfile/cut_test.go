package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"testing"
)

// errCut is returned by every call after the power failure.
var errCut = errors.New("the power is gone")

type inode struct {
	text, lasting string // visible content and synced content
	mode          fs.FileMode
}

// plate is a disk that loses unsynced names and contents at a power failure, after a number of
// calls.
type plate struct {
	calls          int
	names, lasting map[string]*inode
}

func (p *plate) call() error {
	if p.calls == 0 {
		return errCut
	}
	p.calls--
	return nil
}

func (p *plate) createTemp(dir, pattern string) (file, error) {
	if err := p.call(); err != nil {
		return nil, err
	}
	f := &plateFile{plate: p, name: filepath.Join(dir, pattern), inode: &inode{mode: 0o600}}
	p.names[f.name] = f.inode
	return f, nil
}

func (p *plate) rename(from, to string) error {
	if err := p.call(); err != nil {
		return err
	}
	p.names[to] = p.names[from]
	delete(p.names, from)
	return nil
}

func (p *plate) syncDir(string) error {
	if err := p.call(); err != nil {
		return err
	}
	p.lasting = maps.Clone(p.names)
	return nil
}

func (p *plate) remove(name string) error {
	if err := p.call(); err != nil {
		return err
	}
	delete(p.names, name)
	return nil
}

type plateFile struct {
	plate *plate
	name  string
	inode *inode
}

func (f *plateFile) Name() string { return f.name }
func (f *plateFile) Close() error { return f.plate.call() }

// Write writes one byte per call, as a disk may.
func (f *plateFile) Write(b []byte) (int, error) {
	for i := range b {
		if err := f.plate.call(); err != nil {
			return i, err
		}
		f.inode.text += string(b[i])
	}
	return len(b), nil
}

func (f *plateFile) Chmod(mode fs.FileMode) error {
	if err := f.plate.call(); err != nil {
		return err
	}
	f.inode.mode = mode
	return nil
}

func (f *plateFile) Sync() error {
	if err := f.plate.call(); err != nil {
		return err
	}
	f.inode.lasting = f.inode.text
	return nil
}

// TestCutAtEveryStep simulates a power failure after each call of a write. The disk then has either
// the old or the new names, each with the synced content of its inode.
func TestCutAtEveryStep(t *testing.T) {
	t.Parallel()
	const path = "/keys/ca.key"
	for calls := 0; ; calls++ {
		old := &inode{text: "the old key", lasting: "the old key", mode: 0o640}
		p := &plate{calls: calls, names: map[string]*inode{path: old}, lasting: map[string]*inode{path: old}}
		err := replaceOn(p, path, 0o600, func(w io.Writer) error { return writeAll(w, []byte("the new key")) })
		for name, disk := range map[string]map[string]*inode{"names written": p.names, "names not written": p.lasting} {
			if bad := judge(disk[path], err); bad != "" {
				t.Errorf("cut after %d calls, %s: %s", calls, name, bad)
			}
		}
		if err == nil {
			return
		}
		if !errors.Is(err, errCut) {
			t.Fatalf("cut after %d calls: got %v", calls, err)
		}
	}
}

// judge describes the error of a file after a power failure, if its writer returned err.
func judge(f *inode, err error) string {
	switch {
	case f == nil:
		return "there is no file"
	case f.lasting == "the new key" && f.mode == 0o600:
		return ""
	case f.lasting == "the old key" && f.mode == 0o640 && err != nil:
		return ""
	}
	return fmt.Sprintf("there is %q with mode %v, and the writer was told %v", f.lasting, f.mode, err)
}

func TestCutDetectsUnsyncedWrite(t *testing.T) {
	t.Parallel()
	p := &plate{calls: 100, names: map[string]*inode{}, lasting: map[string]*inode{}}
	w, err := createOn(p, "/f", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	w.unsynced = true
	if err := w.fillAndCommit(func(w io.Writer) error { return writeAll(w, []byte("the new key")) }); err != nil {
		t.Fatal(err)
	}
	if judge(p.names["/f"], nil) == "" {
		t.Error("a write that waits for nothing lasts")
	}
}
