package task_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/bundle"
	"github.com/det-deploy/det-deploy/master/store"
)

// sendContext sends a directory with one file as ann's.
func (m *master) sendContext(c *bundle.Contexts, name, content string) (id string) {
	m.t.Helper()
	hash := sha256.Sum256([]byte(content))
	a, err := c.Announce(m.t.Context(), ann(), []*apiv1.ContextFile{{Path: name, Type: '0', Mode: 0o644, Size: int64(len(content)), Pieces: [][]byte{hash[:]}}})
	if err != nil {
		m.t.Fatal(err)
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	out := tar.NewWriter(zip)
	err = out.WriteHeader(&tar.Header{Name: hex.EncodeToString(hash[:]), Size: int64(len(content)), Typeflag: tar.TypeReg})
	_, wrong := out.Write([]byte(content))
	if err := errors.Join(err, wrong, out.Close(), zip.Close()); err != nil {
		m.t.Fatal(err)
	}
	if _, err := c.AddPieces(m.t.Context(), ann(), a.GetContextId(), &packed); err != nil {
		m.t.Fatal(err)
	}
	return a.GetContextId()
}

func TestAContextIsClaimedUntilItsTaskIsUnlisted(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	contexts := bundle.New(bundle.Config{Store: m.store})
	req := command(t, `{"entrypoint":["/program"]}`)
	req.ContextId = m.sendContext(contexts, "startup-hook.sh", "true")
	r, err := m.tasks.Launch(t.Context(), ann(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if shown, err := m.tasks.Task(t.Context(), r.GetCommand().GetId()); err != nil || shown.GetContextId() != req.GetContextId() {
		t.Errorf("got %v and %v, want the ID of the context", shown, err)
	}
	m.restart()
	contexts = bundle.New(bundle.Config{Store: m.store})
	id := r.GetCommand().GetId()
	if got := m.assign(first(id), 1)[0]; !got.GetContext() || got.GetEntrypoint()[3] != "startup-hook.sh" {
		t.Errorf("got the order %v, want a context with a hook", got)
	}
	size, parts, err := m.tasks.ContextDirectory(t.Context(), id)
	if err != nil || size != bundle.UnknownSize {
		t.Fatalf("got %d bytes and %v", size, err)
	}
	var all bytes.Buffer
	for part, err := range parts {
		if err != nil {
			t.Fatal(err)
		}
		all.Write(part)
	}
	zip, err := gzip.NewReader(&all)
	if err != nil {
		t.Fatal(err)
	}
	in := tar.NewReader(zip)
	h, err := in.Next()
	if err != nil || h.Name != "startup-hook.sh" {
		t.Fatalf("got %v, %v", h, err)
	}
	if b, err := io.ReadAll(in); err != nil || string(b) != "true" {
		t.Errorf("got %q, %v", b, err)
	}
	blobs := func(when string, want int) {
		t.Helper()
		if _, err := contexts.Collect(t.Context(), time.Now().Add(48*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if all, _, err := store.CountBlobs(t.Context(), m.store); err != nil || all != want {
			t.Errorf("%s: got %d pieces and %v, want %d", when, all, err, want)
		}
	}
	m.must(life(m, id)[1:]...)
	blobs("a listed task", 1)
	if _, err := m.tasks.Collect(t.Context(), time.Now().Add(25*time.Hour), 0); err != nil {
		t.Fatal(err)
	}
	blobs("an unlisted task", 0)
}

func TestTasksOfAnArrayShareAContext(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	contexts := bundle.New(bundle.Config{Store: m.store})
	req := arrayOf(t, 0, 3)
	req.ContextId = m.sendContext(contexts, "startup-hook.sh", "true")
	r, err := m.tasks.Launch(t.Context(), ann(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	members := m.members(r.GetArrayId())
	for _, c := range members {
		if got := m.assign(first(c.GetId()), 1)[0]; !got.GetContext() || got.GetEntrypoint()[3] != "startup-hook.sh" {
			t.Errorf("got the order %v, want a context with a hook", got)
		}
		if shown, err := m.tasks.Task(t.Context(), c.GetId()); err != nil || shown.GetContextId() != req.GetContextId() {
			t.Errorf("got %v and %v, want the ID of the context", shown, err)
		}
	}
	blobs := func(when string, want int) {
		t.Helper()
		if _, err := contexts.Collect(t.Context(), time.Now().Add(48*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if all, _, err := store.CountBlobs(t.Context(), m.store); err != nil || all != want {
			t.Errorf("%s: got %d pieces and %v, want %d", when, all, err, want)
		}
	}
	for i, c := range members {
		blobs("a task of the array is listed", 1)
		m.must(life(m, c.GetId())[1:]...)
		if _, err := m.tasks.Collect(t.Context(), time.Now().Add(25*time.Hour), 0); err != nil {
			t.Fatalf("task %d: %v", i, err)
		}
	}
	blobs("no task is listed", 0)
}

func TestAContextIsCopiedForAnotherUser(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	contexts := bundle.New(bundle.Config{Store: m.store})
	req := command(t, `{"entrypoint":["x"]}`)
	req.ContextId = m.sendContext(contexts, "a", "content")
	r, err := m.tasks.Launch(t.Context(), ann(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	root := &apiv1.User{Id: 99, Username: "root", Admin: true}
	id, err := m.tasks.CopyContext(t.Context(), root, r.GetCommand().GetId())
	if err != nil {
		t.Fatal(err)
	}
	again := command(t, `{"entrypoint":["x"]}`)
	again.ContextId = id
	if _, err := m.tasks.Launch(t.Context(), root, again, nil); err != nil {
		t.Errorf("got %v for the copy", err)
	}
	none := m.launch(`{"entrypoint":["x"]}`)
	if id, err := m.tasks.CopyContext(t.Context(), root, none.GetCommand().GetId()); err != nil || id != "" {
		t.Errorf("got %q, %v for a task without a context", id, err)
	}
	if _, err := m.tasks.CopyContext(t.Context(), root, "none"); status.Of(err) != status.NotFound {
		t.Errorf("got %v for no task", err)
	}
}

func TestOnlyOwnCompleteContextsAreAccepted(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	contexts := bundle.New(bundle.Config{Store: m.store})
	id := m.sendContext(contexts, "a", "content")
	hash := sha256.Sum256([]byte("other"))
	partial, err := contexts.Announce(t.Context(), ann(), []*apiv1.ContextFile{{Path: "b", Type: '0', Size: 5, Pieces: [][]byte{hash[:]}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		by   *apiv1.User
		edit func(*apiv1.LaunchCommandRequest)
		code status.Code
		want string
	}{
		"another user's": {&apiv1.User{Id: 99, Username: "eve"}, func(r *apiv1.LaunchCommandRequest) { r.ContextId = id }, status.NotFound, "is not on the master"},
		"incomplete":     {ann(), func(r *apiv1.LaunchCommandRequest) { r.ContextId = partial.GetContextId() }, status.FailedPrecondition, "were not sent"},
		"no ID":          {ann(), func(r *apiv1.LaunchCommandRequest) { r.ContextId = "../x" }, status.InvalidArgument, "context_id: must be"},
		"with files": {ann(), func(r *apiv1.LaunchCommandRequest) {
			r.ContextId, r.Files = id, []*apiv1.File{{Path: "a", Type: '0'}}
		}, status.InvalidArgument, "cannot be combined with files"},
	} {
		req := command(t, `{"entrypoint":["x"]}`)
		tt.edit(req)
		if _, err := m.tasks.Launch(t.Context(), tt.by, req, nil); status.Of(err) != tt.code || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %v %q", name, err, tt.code, tt.want)
		}
	}
}
