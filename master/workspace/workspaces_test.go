package workspace

import (
	"testing"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

// people maps the IDs of users to their names.
type people map[int32]string

func (p people) User(id int32) (*apiv1.User, error) {
	name, found := p[id]
	if !found {
		return nil, status.Missing("user", "?")
	}
	return &apiv1.User{Id: id, Username: name, Admin: id == 1}, nil
}

func openConfig(t *testing.T, cfg Config) *Workspaces {
	t.Helper()
	if cfg.Users == nil {
		cfg.Users = people{1: "admin", 2: "determined", 3: "ann", 4: "bob"}
	}
	w, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestAnEmptyStoreGetsTheFirstWorkspace(t *testing.T) {
	s := storetest.New(t)
	for range 2 { // a second start finds the objects of the first one
		w := openConfig(t, Config{Store: s})
		space, err := w.WorkspaceNamed(Uncategorized)
		if err != nil || space.ID != First {
			t.Fatalf("workspace %+v, %v", space, err)
		}
		p, err := w.ProjectNamed(Uncategorized, Uncategorized)
		if err != nil || p.ID != First || p.WorkspaceID != First || p.Key == "" {
			t.Fatalf("project %+v, %v", p, err)
		}
		if docs, err := projects.All(t.Context(), s); err != nil || len(docs) != 1 {
			t.Fatalf("%d projects, %v", len(docs), err)
		}
	}
}

func TestNotFound(t *testing.T) {
	w := openConfig(t, Config{Store: storetest.New(t)})
	for name, ask := range map[string]func() error{
		"workspace":            func() error { _, err := w.Workspace(7); return err },
		"workspace by name":    func() error { _, err := w.WorkspaceNamed("uncategorized"); return err },
		"project":              func() error { _, err := w.Project(7); return err },
		"project by name":      func() error { _, err := w.ProjectNamed(Uncategorized, "x"); return err },
		"workspace for a task": func() error { _, err := w.OpenWorkspace(7); return err },
		"project for an experiment": func() error {
			return w.cfg.Store.Write(t.Context(), func(tx *store.Tx) error {
				_, err := w.OpenProject(t.Context(), tx, 7)
				return err
			})
		},
	} {
		if err := ask(); status.Of(err) != status.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := w.WorkspaceName(7); got != "7" {
		t.Errorf("the name of a deleted workspace is %q", got)
	}
}

func TestOnlyOpenProjectsTakeExperiments(t *testing.T) {
	s := storetest.New(t)
	w := openConfig(t, Config{Store: s})
	space := workspaceRecord{ID: 2, Name: "team"}
	p := projectRecord{ID: 2, WorkspaceID: 2, Name: "vision"}
	ask := func() error {
		return s.Write(t.Context(), func(tx *store.Tx) error {
			if err := putWorkspace(tx, space); err != nil {
				return err
			}
			if err := putProject(tx, p); err != nil {
				return err
			}
			_, err := w.OpenProject(t.Context(), tx, 2)
			return err
		})
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		change func()
		want   status.Code
	}{
		"archived project":    {func() { p.Archived = true }, status.FailedPrecondition},
		"deleted project":     {func() { p.Deletion = deleting }, status.FailedPrecondition},
		"deletion has failed": {func() { p.Deletion = deleteFailed }, status.FailedPrecondition},
		"archived workspace":  {func() { space.Archived = true }, status.NotFound},
		"workspace is going":  {func() { space.Deletion = deleting }, status.NotFound},
	} {
		space, p = workspaceRecord{ID: 2, Name: "team"}, projectRecord{ID: 2, WorkspaceID: 2, Name: "vision"}
		tt.change()
		if err := ask(); status.Of(err) != tt.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
