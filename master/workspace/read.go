package workspace

import (
	"context"
	"slices"
	"strconv"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	expconf "github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/store"
)

// Workspace holds the properties of a workspace for tasks and experiments.
type Workspace struct {
	ID   int32
	Name string
	// UserID is the ID of the owner.
	UserID   int32
	Archived bool
	// ComputePool and AuxPool are the default resource pools; empty means the cluster's default.
	ComputePool, AuxPool string
	// Storage is the default checkpoint storage of experiments, including secrets; nil means the
	// cluster's default. It must not be modified.
	Storage *expconf.Storage
	// Unix overrides the accounts of users.
	Unix Account
	// Members are the users who may use the workspace besides its owner, if its use is restricted;
	// see CheckUser.
	Members []int32
}

// CheckUser returns PermissionDenied if the user may not run anything in the workspace. A workspace
// with storage keys or a Unix account passes them to its tasks, so that only its owner, its members
// and administrators may use it.
func (w Workspace) CheckUser(by *apiv1.User) error {
	gives := "a Unix account"
	switch {
	case w.Storage != nil && w.Storage.HasSecrets():
		gives = "storage keys"
	case w.Unix.IsZero():
		return nil
	}
	if by.GetAdmin() || by.GetId() == w.UserID || slices.Contains(w.Members, by.GetId()) {
		return nil
	}
	return status.New(status.PermissionDenied, "workspace '%s' has %s, so that only its owner, members and administrators may use it; "+
		"its owner can add you to its memberIds", w.Name, gives)
}

// IsOwnedBy reports whether the user may change the content of the workspace as its owner. The
// nominal owner of the first workspace has no such right, because that workspace belongs to the
// cluster.
func (w Workspace) IsOwnedBy(user *apiv1.User) bool {
	return w.ID != First && w.UserID == user.GetId()
}

// Project holds the properties of a project for experiments.
type Project struct {
	ID, WorkspaceID int32
	Name, Key       string
	// UserID is the ID of the owner.
	UserID int32
	// Archived is also true if the workspace is archived.
	Archived bool
}

// reader provides workspaces and projects to other packages. Its methods return NotFound if the
// object does not exist.
type reader struct{ *shared }

// Workspace returns a workspace by ID.
func (r *reader) Workspace(id int32) (Workspace, error) {
	w, found := r.table.findWorkspace(id)
	if !found {
		return Workspace{}, status.Missing("workspace", strconv.Itoa(int(id)))
	}
	return w.answer(), nil
}

// Storages returns the checkpoint storages of all workspaces.
func (r *reader) Storages() []*expconf.Storage {
	var out []*expconf.Storage
	for _, w := range r.table.listWorkspaces() {
		if s := w.answer().Storage; s != nil {
			out = append(out, s)
		}
	}
	return out
}

// WorkspaceNamed returns the workspace with exactly this name.
func (r *reader) WorkspaceNamed(name string) (Workspace, error) {
	for _, w := range r.table.listWorkspaces() {
		if w.Name == name {
			return w.answer(), nil
		}
	}
	return Workspace{}, status.Missing("workspace", name)
}

// WorkspaceName returns the name of a workspace, or its ID if it was deleted.
func (r *reader) WorkspaceName(id int32) string {
	if w, found := r.table.findWorkspace(id); found {
		return w.Name
	}
	return strconv.Itoa(int(id))
}

// OpenWorkspace returns a workspace that accepts new objects. It returns NotFound also for a
// workspace that is archived or being deleted, as clients of Determined 0.38.1 expect.
func (r *reader) OpenWorkspace(id int32) (Workspace, error) {
	w, found := r.table.findWorkspace(id)
	if !found {
		return Workspace{}, status.Missing("workspace", strconv.Itoa(int(id)))
	}
	return w.answer(), w.checkOpen()
}

// CheckWorkspace returns the errors of OpenWorkspace inside the transaction that adds an object to
// the workspace, so that nothing is added after its deletion has started.
func (r *reader) CheckWorkspace(ctx context.Context, tx *store.Tx, id int32) error {
	doc, found, err := workspaces.Get(ctx, tx, recordID(id))
	if err != nil {
		return err
	}
	if !found {
		return status.Missing("workspace", strconv.Itoa(int(id)))
	}
	return doc.Value.checkOpen()
}

// Project returns a project by ID.
func (r *reader) Project(id int32) (Project, error) {
	p, found := r.table.findProject(id)
	if !found {
		return Project{}, status.Missing("project", strconv.Itoa(int(id)))
	}
	return r.answerProject(p), nil
}

// ProjectNamed returns the project with exactly this name in the workspace with exactly that name.
func (r *reader) ProjectNamed(workspace, name string) (Project, error) {
	w, err := r.WorkspaceNamed(workspace)
	if err != nil {
		return Project{}, err
	}
	for _, p := range r.table.listProjects(w.ID) {
		if p.Name == name {
			return r.answerProject(p), nil
		}
	}
	return Project{}, status.New(status.NotFound, "project '%s' not found in workspace '%s'", name, workspace)
}

// OpenProject returns a project that accepts new experiments, inside the transaction that adds one,
// so that nothing is added after its deletion has started. It returns FailedPrecondition if the
// project is archived or being deleted, and the errors of OpenWorkspace for its workspace.
func (r *reader) OpenProject(ctx context.Context, tx *store.Tx, id int32) (Project, error) {
	doc, found, err := projects.Get(ctx, tx, recordID(id))
	if err != nil {
		return Project{}, err
	}
	if !found {
		return Project{}, status.Missing("project", strconv.Itoa(int(id)))
	}
	p := doc.Value
	if err := r.CheckWorkspace(ctx, tx, p.WorkspaceID); err != nil {
		return Project{}, err
	}
	return p.answer(false), p.checkOpen()
}

func (w *known) answer() Workspace {
	return Workspace{
		ID: w.ID, Name: w.Name, UserID: w.UserID, Archived: w.Archived,
		ComputePool: w.Compute, AuxPool: w.Aux, Storage: w.storage, Unix: w.Unix, Members: w.Members,
	}
}

func (r *reader) answerProject(p *projectRecord) Project {
	w, found := r.table.findWorkspace(p.WorkspaceID)
	return p.answer(found && w.Archived)
}

func (p projectRecord) answer(archived bool) Project {
	return Project{
		ID: p.ID, WorkspaceID: p.WorkspaceID, Name: p.Name, Key: p.Key, UserID: p.UserID,
		Archived: p.Archived || archived,
	}
}

// checkOpen returns NotFound if the workspace accepts no new objects.
func (w workspaceRecord) checkOpen() error {
	switch {
	case w.Archived:
		return status.New(status.NotFound, "workspace '%s' is archived; unarchive it, or choose another", w.Name)
	case w.Deletion != notDeleted:
		return status.New(status.NotFound, "workspace '%s' is being deleted; choose another", w.Name)
	}
	return nil
}

// checkOpen returns FailedPrecondition if the project accepts no new objects.
func (p projectRecord) checkOpen() error {
	switch {
	case p.Archived:
		return status.New(status.FailedPrecondition, "project '%s' is archived; unarchive it, or choose another", p.Name)
	case p.Deletion != notDeleted:
		return status.New(status.FailedPrecondition, "project '%s' is being deleted; choose another", p.Name)
	}
	return nil
}
