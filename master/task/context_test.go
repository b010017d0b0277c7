package task_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task"
)

// context returns the archive of a task's files.
func (m *master) context(id string) []byte {
	m.t.Helper()
	size, parts, err := m.tasks.ContextDirectory(m.t.Context(), id)
	if err != nil {
		m.t.Fatal(err)
	}
	var b []byte
	for part, err := range parts {
		if err != nil {
			m.t.Fatal(err)
		}
		b = append(b, part...)
	}
	if int64(len(b)) != size {
		m.t.Fatalf("got %d bytes, want %d", len(b), size)
	}
	return b
}

// noise is incompressible.
type noise struct{ *rand.ChaCha8 }

func noiseOf(seed byte, n int64) io.Reader {
	return io.LimitReader(noise{rand.NewChaCha8([32]byte{seed})}, n)
}

// strayParts returns the tasks whose files are in the store.
func (m *master) strayParts() []string {
	m.t.Helper()
	all, err := store.Collection[[]byte]{Kind: "task_context_part"}.Parents(m.t.Context(), m.store)
	if err != nil {
		m.t.Fatal(err)
	}
	return all
}

func TestLargeContextRoundTripsInParts(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	const size = 5 << 20
	req := command(t, `{"entrypoint":["x"]}`)
	req.Files = []*apiv1.File{{Path: "a", Type: 48}, {Path: "b", Type: 48}}
	r, err := m.tasks.Launch(t.Context(), ann(), req, func(i int) (io.Reader, int64) { return noiseOf(byte(i), size), size })
	if err != nil {
		t.Fatal(err)
	}
	m.restart()
	zip, err := gzip.NewReader(bytes.NewReader(m.context(r.GetCommand().GetId())))
	if err != nil {
		t.Fatal(err)
	}
	out := tar.NewReader(zip)
	for i, name := range []string{"a", "b"} {
		h, err := out.Next()
		if err != nil || h.Name != name {
			t.Fatalf("got %v, %v, want %s", h, err, name)
		}
		got, err := io.ReadAll(out)
		want, _ := io.ReadAll(noiseOf(byte(i), size))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: got %d bytes and %v, want the sent content", name, len(got), err)
		}
	}
	m.must(life(m, r.GetCommand().GetId())...)
	if _, err := m.tasks.Collect(t.Context(), time.Now().Add(25*time.Hour), 0); err != nil {
		t.Fatal(err)
	}
	if left := m.strayParts(); len(left) > 0 {
		t.Errorf("got the files of %v, want them gone with the task", left)
	}
}

// A context of 100 MB once took seven times its size in memory.
func TestAContextIsNotHeldInMemory(t *testing.T) { //nolint:paralleltest // it looks at the memory of the whole process
	m := newMaster(t)
	const size = 64 << 20
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	most := uint64(0)
	look := &watched{noiseOf(1, size), func() {
		runtime.ReadMemStats(&now)
		most = max(most, now.HeapAlloc)
	}, 0}
	req := command(t, `{"entrypoint":["x"]}`)
	req.Files = []*apiv1.File{{Path: "a", Type: 48}}
	r, err := m.tasks.Launch(t.Context(), ann(), req, func(int) (io.Reader, int64) { return look, size })
	if err != nil {
		t.Fatal(err)
	}
	read := int64(0)
	_, parts, err := m.tasks.ContextDirectory(t.Context(), r.GetCommand().GetId())
	if err != nil {
		t.Fatal(err)
	}
	for part, err := range parts {
		if err != nil {
			t.Fatal(err)
		}
		read += int64(len(part))
		look.seen()
	}
	if more := int64(most) - int64(before.HeapAlloc); read < size || more > size/2 {
		t.Errorf("%d bytes of files took %d MiB of memory at a time, want less than half of it", read, more>>20)
	}
}

// watched calls seen after every MiB.
type watched struct {
	io.Reader
	seen func()
	n    int
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.Reader.Read(b)
	if w.n += n; w.n > 1<<20 {
		w.n = 0
		w.seen()
	}
	return n, err
}

func TestFilesOfUnstoredTaskAreDeleted(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	m.edit = func(c *task.Config) { c.Limits.Contexts = 3 << 20 }
	m.restart()
	broken := errors.New("the body has ended")
	for name, tt := range map[string]struct {
		file    *apiv1.File
		content func() (io.Reader, int64)
		want    string
	}{
		"a path that cannot be": {&apiv1.File{Path: "../b", Type: 48}, func() (io.Reader, int64) { return strings.NewReader(""), 0 }, "must not contain .."},
		"too much":              {&apiv1.File{Path: "b", Type: 48}, func() (io.Reader, int64) { return noiseOf(1, 2<<20), 2 << 20 }, "context_bytes_per_user"},
		"a body that broke off": {&apiv1.File{Path: "b", Type: 48}, func() (io.Reader, int64) {
			return io.MultiReader(noiseOf(1, 1<<20), failing{broken}), 2 << 20
		}, broken.Error()},
	} {
		req := command(t, `{"entrypoint":["x"]}`)
		req.Files = []*apiv1.File{{Path: "a", Type: 48}, tt.file}
		_, err := m.tasks.Launch(t.Context(), ann(), req, func(i int) (io.Reader, int64) {
			if i == 0 {
				return noiseOf(0, 2<<20), 2 << 20
			}
			return tt.content()
		})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
		if left := m.strayParts(); len(left) > 0 {
			t.Errorf("%s: got the files of %v, want them gone", name, left)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// A master that was killed while it received a context leaves parts that belong to no task.
func TestStrayFilesAreRemoved(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	req := command(t, `{"entrypoint":["x"]}`)
	req.Files = []*apiv1.File{{Path: "a", Type: 48, Content: []byte("x")}}
	r, err := m.tasks.Launch(t.Context(), ann(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	kept := m.context(r.GetCommand().GetId())
	stray := store.Collection[[]byte]{Kind: "task_context_part"}
	if err := m.store.Write(t.Context(), func(tx *store.Tx) error {
		return stray.Put(tx, "gone/000000", "gone", time.Now(), []byte("x"))
	}); err != nil {
		t.Fatal(err)
	}
	m.restart()
	if _, err := m.tasks.Collect(t.Context(), time.Now(), 0); err != nil {
		t.Fatal(err)
	}
	if left := m.strayParts(); len(left) != 1 || left[0] != r.GetCommand().GetId() {
		t.Errorf("got the files of %v, want those of the task alone", left)
	}
	if got := m.context(r.GetCommand().GetId()); !bytes.Equal(got, kept) {
		t.Error("the files of the task have changed")
	}
}

// Earlier versions kept a context in one document.
func TestAContextOfAnEarlierVersionIsRead(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	id := m.launch(`{"entrypoint":["x"]}`).GetCommand().GetId()
	if err := m.store.Write(t.Context(), func(tx *store.Tx) error {
		return store.Collection[[]byte]{Kind: "task_context"}.Put(tx, id, "", time.Now(), []byte("packed"))
	}); err != nil {
		t.Fatal(err)
	}
	if got := m.context(id); string(got) != "packed" {
		t.Errorf("got %q", got)
	}
	if _, _, err := m.tasks.ContextDirectory(t.Context(), "unknown"); status.Of(err) != status.NotFound {
		t.Errorf("got %v, want that there is no such task", err)
	}
}

func TestAHookAmongTheFilesRunsFirst(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	for name, hooked := range map[string]bool{"startup-hook.sh": true, "./startup-hook.sh": true, "below/startup-hook.sh": false, "startup-hook.py": false} {
		req := command(t, `{"entrypoint":["/program"]}`)
		req.Files = []*apiv1.File{{Path: name, Type: 48, Content: []byte("true")}}
		r, err := m.tasks.Launch(t.Context(), ann(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		id := r.GetCommand().GetId()
		got := m.assign(first(id), 1)[0].GetEntrypoint()
		if (len(got) == 7 && got[3] == "startup-hook.sh") != hooked {
			t.Errorf("%s: got the command line %q", name, got)
		}
	}
}
