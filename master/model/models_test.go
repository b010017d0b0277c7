package model_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/model"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/workspace"
	"github.com/det-deploy/det-deploy/test/storetest"
)

const uuid = "11111111-1111-4111-8111-111111111111"

// people knows all users.
type people struct{}

func (people) User(id int32) (*apiv1.User, error) {
	return &apiv1.User{Id: id, Username: map[int32]string{1: "admin", 7: "ann", 8: "bob"}[id]}, nil
}

func admin() *apiv1.User { return &apiv1.User{Id: 1, Username: "admin", Admin: true} }
func ann() *apiv1.User   { return &apiv1.User{Id: 7, Username: "ann"} }
func bob() *apiv1.User   { return &apiv1.User{Id: 8, Username: "bob"} }

type world struct {
	t      *testing.T
	store  *store.Store
	spaces *workspace.Workspaces
	*model.Models
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, store: storetest.New(t)}
	w.restart()
	return w
}

// restart reopens everything from the store.
func (w *world) restart() {
	w.t.Helper()
	var err error
	if w.spaces, err = workspace.Open(w.t.Context(), workspace.Config{Store: w.store, Users: people{}}); err != nil {
		w.t.Fatal(err)
	}
	if w.Models, err = model.Open(w.t.Context(), model.Config{Store: w.store, Workspaces: w.spaces, Users: people{}}); err != nil {
		w.t.Fatal(err)
	}
	w.spaces.Attach(nil, w.Models)
}

func (w *world) write(do func(tx *store.Tx) error) error { return w.store.Write(w.t.Context(), do) }

// save stores a checkpoint of trial 3.
func (w *world) save(id string) {
	w.t.Helper()
	err := w.write(func(tx *store.Tx) error {
		owned := record.Experiment{ID: 2, UserID: 7, Username: "ann", State: lifecycle.Completed}
		if err := record.Docs().Experiments.Put(tx, record.Key(2), "", time.Unix(1, 0), owned); err != nil {
			return err
		}
		return checkpoint.Put(w.t.Context(), tx, checkpoint.Record{UUID: id, Experiment: 2, Trial: 3, State: checkpoint.Completed, Reported: time.Unix(1, 0)})
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// remove requests the deletion of a checkpoint.
func (w *world) remove(id string) error {
	return w.write(func(tx *store.Tx) error {
		return checkpoint.MarkForDeletion(w.t.Context(), tx, nil, checkpoint.Deletion{Asked: time.Unix(2, 0), Globs: checkpoint.AllFiles()}, []string{id})
	})
}

func (w *world) create(by *apiv1.User, name string) *apiv1.Model {
	w.t.Helper()
	m, err := w.Create(w.t.Context(), by, &apiv1.PostModelRequest{Name: name})
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

func (w *world) register(by *apiv1.User, name, id string) *apiv1.ModelVersion {
	w.t.Helper()
	v, err := w.Register(w.t.Context(), by, name, &apiv1.PostModelVersionRequest{CheckpointUuid: id})
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// A registered checkpoint cannot be deleted, not even by its owner.
func TestRegisterRequiresReadAccess(t *testing.T) {
	w := newWorld(t)
	w.save(uuid)
	w.create(bob(), "his")
	_, err := w.Register(t.Context(), bob(), "his", &apiv1.PostModelVersionRequest{CheckpointUuid: uuid})
	if status.Of(err) != status.PermissionDenied || !strings.Contains(err.Error(), "ann") {
		t.Errorf("got %v, want the checkpoint to be for its owner", err)
	}
	err = w.write(func(tx *store.Tx) error {
		rec, _, err := checkpoint.Get(t.Context(), tx, uuid)
		if err != nil {
			return err
		}
		needs, err := checkpoint.Needs(t.Context(), tx, nil, []checkpoint.Record{rec})
		if len(needs) != 0 {
			t.Errorf("got needs %v after a refusal, want none", needs)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.register(admin(), "his", uuid)
}

func TestVersionProtectsCheckpoint(t *testing.T) {
	w := newWorld(t)
	w.save(uuid)
	w.create(ann(), "mnist")
	w.register(ann(), "mnist", uuid)
	name := "digits"
	if _, err := w.Patch(t.Context(), ann(), "mnist", &apiv1.PatchModel{Name: &name}); err != nil {
		t.Fatal(err)
	}
	if err := w.remove(uuid); status.Of(err) != status.FailedPrecondition || !strings.Contains(err.Error(), "version 1 of model digits") {
		t.Fatalf("delete a registered checkpoint: %v", err)
	}
	w.restart()
	if err := w.DeleteVersion(t.Context(), ann(), "digits", 1); err != nil {
		t.Fatal(err)
	}
	if err := w.remove(uuid); err != nil {
		t.Errorf("delete a checkpoint that no version refers to: %v", err)
	}
	_, err := w.Register(t.Context(), ann(), "digits", &apiv1.PostModelVersionRequest{CheckpointUuid: uuid})
	if err == nil {
		t.Error("a checkpoint that is being deleted was registered")
	}
	if m, err := w.Get("digits"); err != nil || m.GetNumVersions() != 0 {
		t.Errorf("after a refusal it is %v, %v", m, err)
	}
}

func TestDeletedModelReleasesCheckpoints(t *testing.T) {
	w := newWorld(t)
	w.save(uuid)
	w.create(ann(), "mnist")
	w.register(ann(), "mnist", uuid)
	w.register(ann(), "mnist", uuid)
	if err := w.DeleteVersion(t.Context(), ann(), "mnist", 1); err != nil {
		t.Fatal(err)
	}
	if err := w.remove(uuid); err == nil {
		t.Error("the second version does not keep it")
	}
	if err := w.Delete(t.Context(), ann(), "mnist"); err != nil {
		t.Fatal(err)
	}
	if err := w.remove(uuid); err != nil {
		t.Error(err)
	}
	w.restart()
	if m := w.create(ann(), "mnist"); m.GetId() != 2 {
		t.Errorf("the next model has the number %d", m.GetId())
	}
	if _, numbers, err := w.Numbers(t.Context(), "mnist"); err != nil || len(numbers) > 0 {
		t.Errorf("it has versions %v, %v", numbers, err)
	}
}

func TestModelsSurviveARestart(t *testing.T) {
	w := newWorld(t)
	w.save(uuid)
	metadata, _ := structpb.NewStruct(map[string]any{"k": "v"})
	_, err := w.Create(t.Context(), ann(), &apiv1.PostModelRequest{Name: "mnist", Labels: []string{"x", "y", "x"}, Metadata: metadata, Notes: "n", Description: "d"})
	if err != nil {
		t.Fatal(err)
	}
	w.register(ann(), "mnist", uuid)
	w.register(ann(), "mnist", uuid)
	if err := w.DeleteVersion(t.Context(), ann(), "mnist", 2); err != nil {
		t.Fatal(err)
	}
	w.restart()
	v := w.register(ann(), "1", uuid)
	if v.GetVersion() != 3 || v.GetId() != 3 {
		t.Errorf("a deleted version's number was given out again: %v", v)
	}
	m := v.GetModel()
	if m.GetNumVersions() != 2 || m.GetUsername() != "ann" || m.GetNotes() != "n" || m.GetDescription() != "d" || strings.Join(m.GetLabels(), " ") != "x y" ||
		m.GetMetadata().AsMap()["k"] != "v" || m.GetWorkspaceId() != 1 {
		t.Errorf("it is %v", m)
	}
	if v.GetCheckpoint().GetTraining().GetTrialId().GetValue() != 3 || v.GetCheckpoint().GetUuid() != uuid {
		t.Errorf("its checkpoint is %v", v.GetCheckpoint())
	}
}

func TestModelPermissions(t *testing.T) {
	w := newWorld(t)
	w.save(uuid)
	w.create(ann(), "hers")
	w.register(ann(), "hers", uuid)
	x := t.Context()
	for what, do := range map[string]func(by *apiv1.User) error{
		"patch":   func(by *apiv1.User) error { _, err := w.Patch(x, by, "hers", &apiv1.PatchModel{}); return err },
		"archive": func(by *apiv1.User) error { return w.SetArchived(x, by, "hers", false) },
		"register": func(by *apiv1.User) error {
			_, err := w.Register(x, by, "hers", &apiv1.PostModelVersionRequest{CheckpointUuid: uuid})
			return err
		},
		"patch a version": func(by *apiv1.User) error {
			_, err := w.PatchVersion(x, by, "hers", 1, &apiv1.PatchModelVersion{})
			return err
		},
	} {
		if err := do(bob()); status.Of(err) != status.PermissionDenied {
			t.Errorf("%s by another user: %v", what, err)
		}
		for _, by := range []*apiv1.User{ann(), admin()} {
			if err := do(by); err != nil {
				t.Errorf("%s by %s: %v", what, by.GetUsername(), err)
			}
		}
	}
	for what, err := range map[string]error{
		"delete a version": w.DeleteVersion(x, bob(), "hers", 1), "delete": w.Delete(x, bob(), "hers"),
	} {
		if status.Of(err) != status.PermissionDenied {
			t.Errorf("%s by another user: %v", what, err)
		}
	}
}

func TestWorkspaceOwnerMayChangeModels(t *testing.T) {
	w := newWorld(t)
	space, err := w.spaces.Create(t.Context(), bob(), &apiv1.PostWorkspaceRequest{Name: "team"})
	if err != nil {
		t.Fatal(err)
	}
	w.create(ann(), "hers")
	id := space.GetId()
	if _, err := w.Patch(t.Context(), ann(), "hers", &apiv1.PatchModel{WorkspaceId: &id}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.spaces.Delete(t.Context(), bob(), id); status.Of(err) != status.FailedPrecondition {
		t.Errorf("delete a workspace with a model: %v", err)
	}
	if err := w.spaces.SetArchived(t.Context(), bob(), id, true); err != nil {
		t.Fatal(err)
	}
	_, err = w.Create(t.Context(), ann(), &apiv1.PostModelRequest{Name: "x", WorkspaceId: id})
	if status.Of(err) != status.NotFound {
		t.Errorf("a model in an archived workspace: %v", err)
	}
	if err := w.Delete(t.Context(), bob(), "hers"); err != nil {
		t.Error(err)
	}
}

func TestInvalidModels(t *testing.T) {
	w := newWorld(t)
	w.create(ann(), "taken")
	large, _ := structpb.NewStruct(map[string]any{"x": strings.Repeat("y", 300<<10)})
	number, _ := structpb.NewList([]any{1})
	for name, tt := range map[string]struct {
		in   *apiv1.PostModelRequest
		want status.Code
	}{
		"no name":              {&apiv1.PostModelRequest{}, status.InvalidArgument},
		"blanks":               {&apiv1.PostModelRequest{Name: "  "}, status.InvalidArgument},
		"two blanks":           {&apiv1.PostModelRequest{Name: "a  b"}, status.InvalidArgument},
		"a slash":              {&apiv1.PostModelRequest{Name: "a/b"}, status.InvalidArgument},
		"a backslash":          {&apiv1.PostModelRequest{Name: `a\b`}, status.InvalidArgument},
		"a number":             {&apiv1.PostModelRequest{Name: "12"}, status.InvalidArgument},
		"a taken name":         {&apiv1.PostModelRequest{Name: "TAKEN"}, status.AlreadyExists},
		"a long name":          {&apiv1.PostModelRequest{Name: strings.Repeat("x", 256)}, status.InvalidArgument},
		"a long text":          {&apiv1.PostModelRequest{Name: "x", Notes: strings.Repeat("x", 65<<10)}, status.InvalidArgument},
		"large metadata":       {&apiv1.PostModelRequest{Name: "x", Metadata: large}, status.InvalidArgument},
		"an empty label":       {&apiv1.PostModelRequest{Name: "x", Labels: []string{""}}, status.InvalidArgument},
		"an unknown workspace": {&apiv1.PostModelRequest{Name: "x", WorkspaceId: 9}, status.NotFound},
	} {
		if _, err := w.Create(t.Context(), ann(), tt.in); status.Of(err) != tt.want || err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.Patch(t.Context(), ann(), "taken", &apiv1.PatchModel{Labels: number}); status.Of(err) != status.InvalidArgument || err == nil {
		t.Errorf("a label that is no text: %v", err)
	}
	if _, err := w.Register(t.Context(), ann(), "taken", &apiv1.PostModelVersionRequest{}); status.Of(err) != status.InvalidArgument || err == nil {
		t.Errorf("no checkpoint: %v", err)
	}
	if n := len(w.List()); n != 1 {
		t.Errorf("there are %d models", n)
	}
}

func TestLabelsAreListedByUse(t *testing.T) {
	w := newWorld(t)
	for name, labels := range map[string][]string{"a": {"hello", "world"}, "b": {"world", "test", "zebra"}} {
		if _, err := w.Create(t.Context(), ann(), &apiv1.PostModelRequest{Name: name, Labels: labels}); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(w.Labels(0), " "); got != "world hello test zebra" {
		t.Errorf("labels %q", got)
	}
	if got := w.Labels(5); len(got) > 0 {
		t.Errorf("labels of no workspace: %q", got)
	}
}

func TestModelLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kept := store.Collection[map[string]any]{Kind: "model"}
	err := w.write(func(tx *store.Tx) error {
		for i := range 10_000 {
			doc := map[string]any{"id": i + 1, "name": fmt.Sprint("m", i), "workspace_id": 1, "user_id": ann().GetId(), "created": time.Unix(0, 0), "updated": time.Unix(0, 0)}
			if err := kept.Put(tx, strconv.Itoa(i+1), "", time.Time{}, doc); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.restart()
	one := &apiv1.PostModelRequest{Name: "one more"}
	if _, err := w.Create(t.Context(), ann(), one); status.Of(err) != status.ResourceExhausted || !strings.Contains(err.Error(), "user ann has 10000 models") {
		t.Errorf("got %v, want an error with how many there are", err)
	}
	if _, err := w.Create(t.Context(), bob(), one); err != nil {
		t.Errorf("another user: %v", err)
	}
}
