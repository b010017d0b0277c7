package bundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/bundle"
	"github.com/det-deploy/det-deploy/master/quota"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

// world is a store of contexts with a clock.
type world struct {
	*testing.T

	store *store.Store
	quota *quota.Quota
	now   time.Time
	*bundle.Contexts
}

func newWorld(t *testing.T, maxBytes, stored int64) *world {
	t.Helper()
	w := &world{T: t, store: storetest.New(t), now: time.UnixMicro(1e15)}
	var err error
	if w.quota, err = quota.Open(t.Context(), w.store, stored); err != nil {
		t.Fatal(err)
	}
	w.Contexts = bundle.New(bundle.Config{Store: w.store, Quota: w.quota, MaxBytes: maxBytes, Now: func() time.Time { return w.now }})
	return w
}

func user(id int32) *apiv1.User { return &apiv1.User{Id: id, Username: "ann"} }

// files are contents by path.
type files map[string]string

// list returns the files as they are announced.
func (f files) list() []*apiv1.ContextFile {
	var out []*apiv1.ContextFile
	for _, name := range slices.Sorted(maps.Keys(f)) {
		file := &apiv1.ContextFile{Path: name, Type: '0', Mode: 0o644, Mtime: 7, Size: int64(len(f[name]))}
		for piece := range slices.Chunk([]byte(f[name]), bundle.PieceBytes) {
			h := sha256.Sum256(piece)
			file.Pieces = append(file.Pieces, h[:])
		}
		out = append(out, file)
	}
	return out
}

// packed returns the pieces of the files as they are sent.
func (f files) packed(t *testing.T) io.Reader {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	to := tar.NewWriter(zip)
	for _, content := range f {
		for piece := range slices.Chunk([]byte(content), bundle.PieceBytes) {
			h := sha256.Sum256(piece)
			err := to.WriteHeader(&tar.Header{Name: hex.EncodeToString(h[:]), Size: int64(len(piece)), Typeflag: tar.TypeReg})
			if _, wrong := to.Write(piece); err != nil || wrong != nil {
				t.Fatal(err, wrong)
			}
		}
	}
	if err := errors.Join(to.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return &out
}

// send announces and sends files, and returns their ID and the number of pieces that were missing.
func (w *world) send(by *apiv1.User, f files) (id string, missing int) {
	w.Helper()
	a, err := w.Announce(w.Context(), by, f.list())
	if err != nil {
		w.Fatal(err)
	}
	if _, err := w.AddPieces(w.Context(), by, a.GetContextId(), f.packed(w.T)); err != nil {
		w.Fatal(err)
	}
	return a.GetContextId(), len(a.GetMissing())
}

func (w *world) claim(holder string, by *apiv1.User, id string) error {
	return w.store.Write(w.Context(), func(tx *store.Tx) error { return w.Claim(w.Context(), tx, holder, by, id) })
}

func (w *world) release(holder string) {
	w.Helper()
	if err := w.store.Write(w.Context(), func(tx *store.Tx) error { return bundle.Release(tx, holder) }); err != nil {
		w.Fatal(err)
	}
}

// unpacked returns the files of a holder's context.
func (w *world) unpacked(holder string) files {
	w.Helper()
	parts, err := w.Archive(w.Context(), holder)
	if err != nil {
		w.Fatal(err)
	}
	var all bytes.Buffer
	for part, err := range parts {
		if err != nil {
			w.Fatal(err)
		}
		all.Write(part)
	}
	zip, err := gzip.NewReader(&all)
	if err != nil {
		w.Fatal(err)
	}
	got := files{}
	for in := tar.NewReader(zip); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			w.Fatal(err)
		}
		b, err := io.ReadAll(in)
		if err != nil {
			w.Fatal(err)
		}
		got[h.Name] = string(b)
	}
}

func TestContextRoundTrip(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0, 0)
	want := files{
		"train.py": "print()", "sub/empty": "", "sub/same.py": "print()", strings.Repeat("long/", 40) + "name": "x",
		"big": strings.Repeat("0123456789abcdef", bundle.PieceBytes/16) + "rest", "block": strings.Repeat("b", 512),
	}
	id, missing := w.send(user(1), want)
	if missing != 5 {
		t.Errorf("got %d missing pieces, want 5: one content is there twice, one is empty, one has two pieces", missing)
	}
	if err := w.claim("task/1", user(1), id); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(w.unpacked("task/1"), want); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
	want["train.py"] = "print(1)"
	if _, missing := w.send(user(1), want); missing != 1 {
		t.Errorf("got %d missing pieces, want that of the changed file", missing)
	}
}

// A user cannot learn which files another one has sent.
func TestPiecesOfOthersAreMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0, 0)
	f := files{"secret": "of user 1"}
	id, _ := w.send(user(1), f)
	if a, err := w.Announce(t.Context(), user(2), f.list()); err != nil || len(a.GetMissing()) != 1 || a.GetContextId() != id {
		t.Errorf("got %v and %v, want that user 2 has to send the piece", a, err)
	}
	if err := w.claim("task/2", user(2), id); status.Of(err) != status.FailedPrecondition {
		t.Errorf("got %v, want that the context of user 2 is incomplete", err)
	}
	if err := w.claim("task/3", user(3), id); status.Of(err) != status.NotFound {
		t.Errorf("got %v, want that user 3 has no such context", err)
	}
	if _, err := w.Files(t.Context(), user(3), id); status.Of(err) != status.NotFound {
		t.Errorf("got %v, want that user 3 has no such context", err)
	}
	if _, err := w.AddPieces(t.Context(), user(3), id, f.packed(t)); status.Of(err) != status.NotFound {
		t.Errorf("got %v, want that user 3 has no such context", err)
	}
}

func TestAnnounceRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 10, 0)
	hash := make([]byte, 32)
	file := func(f *apiv1.ContextFile) []*apiv1.ContextFile { return []*apiv1.ContextFile{f} }
	for want, list := range map[string][]*apiv1.ContextFile{
		"at least one file":                         nil,
		"must not contain ..":                       files{"a/../../b": ""}.list(),
		"must be a relative path":                   files{"/etc/passwd": ""}.list(),
		"below \"a\"":                               files{"a": "x", "a/b": "y"}.list(),
		"only files (48)":                           file(&apiv1.ContextFile{Path: "link", Type: '2'}),
		"has no content":                            file(&apiv1.ContextFile{Path: "d", Type: '5', Size: 1, Pieces: [][]byte{hash}}),
		"its size is invalid":                       file(&apiv1.ContextFile{Path: "a", Type: '0', Size: -1}),
		"the number of its pieces":                  file(&apiv1.ContextFile{Path: "a", Type: '0', Size: 1}),
		"is not a SHA-256":                          file(&apiv1.ContextFile{Path: "a", Type: '0', Size: 1, Pieces: [][]byte{hash[1:]}}),
		"security.limits.context_bytes of 10 bytes": files{"a": "12345", "b": "678901"}.list(),
		"at most 100000 are allowed":                make([]*apiv1.ContextFile, bundle.MostFiles+1),
	} {
		if _, err := w.Announce(t.Context(), user(1), list); status.Of(err) != status.InvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if all, err := w.Collect(t.Context(), w.now.Add(2*bundle.Keep)); err != nil || all != 0 {
		t.Errorf("got %d contexts and %v, want that none was stored", all, err)
	}
}

func TestPiecesAreChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0, 1<<20)
	f := files{"a": "content"}
	a, err := w.Announce(t.Context(), user(1), f.list())
	if err != nil {
		t.Fatal(err)
	}
	archived := func(h tar.Header, content string) io.Reader {
		var out bytes.Buffer
		zip := gzip.NewWriter(&out)
		to := tar.NewWriter(zip)
		if h.Typeflag == 0 {
			h.Typeflag, h.Size = tar.TypeReg, int64(len(content))
		}
		_ = to.WriteHeader(&h)
		_, _ = to.Write([]byte(content))
		_ = to.Close()
		_ = zip.Close()
		return &out
	}
	hash := hex.EncodeToString(a.GetMissing()[0])
	for want, from := range map[string]io.Reader{
		"is not a gzipped tar":        strings.NewReader("content"),
		"has another hash":            archived(tar.Header{Name: hash}, "something else"),
		"at most 4194304 bytes":       archived(tar.Header{Name: hash}, strings.Repeat("x", bundle.PieceBytes+1)),
		"must be a file":              archived(tar.Header{Name: hash, Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, ""),
		"is not a gzipped tar of at ": io.LimitReader(f.packed(t), 30),
	} {
		if n, err := w.AddPieces(t.Context(), user(1), a.GetContextId(), from); n != 0 || status.Of(err) != status.InvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("got %d pieces and %v, want %q", n, err, want)
		}
	}
	other := files{"b": "not of this context"}
	if n, err := w.AddPieces(t.Context(), user(1), a.GetContextId(), other.packed(t)); n != 0 || err != nil {
		t.Errorf("got %d pieces and %v, want that the piece of another context is ignored", n, err)
	}
	if all, _, err := store.CountBlobs(t.Context(), w.store); err != nil || all != 0 {
		t.Errorf("got %d blobs and %v, want none", all, err)
	}
}

func TestPiecesCountInTheQuota(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0, 300)
	big := make([]byte, 1000)
	for i := range big {
		big[i] = byte(i * i * 31)
	}
	f := files{"a": "small"}
	id, _ := w.send(user(1), f)
	if w.quota.Stored(1)[quota.Contexts] == 0 {
		t.Error("nothing is counted")
	}
	more := files{"a": string(big)}
	a, err := w.Announce(t.Context(), user(1), more.list())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.AddPieces(t.Context(), user(1), a.GetContextId(), more.packed(t)); status.Of(err) != status.ResourceExhausted {
		t.Errorf("got %v, want that the quota is used up", err)
	}
	if _, err := w.Files(t.Context(), user(1), id); err != nil {
		t.Error(err)
	}
	if _, err := w.Collect(t.Context(), w.now.Add(2*bundle.Keep)); err != nil {
		t.Fatal(err)
	}
	if n := w.quota.Stored(1)[quota.Contexts]; n != 0 {
		t.Errorf("got %d bytes counted after everything was deleted", n)
	}
}

func TestCopyIsForAnotherUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0, 0)
	f := files{"a": "1", "b": "2"}
	id, _ := w.send(user(1), f)
	if err := w.claim("experiment/1", user(1), id); err != nil {
		t.Fatal(err)
	}
	copied, err := w.Copy(t.Context(), "experiment/1", user(2))
	if err == nil {
		err = w.claim("experiment/2", user(2), copied)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.release("experiment/1")
	if _, err := w.Collect(t.Context(), w.now.Add(2*bundle.Keep)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(w.unpacked("experiment/2"), f); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
	if got := w.quota.Stored(1)[quota.Contexts]; got != 0 {
		t.Errorf("got %d bytes of the first user, want none", got)
	}
}
