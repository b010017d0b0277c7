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

// Workspace is what tasks and experiments ask of one.
type Workspace struct {
	ID   int32
	Name string
	// UserID is the owner's.
	UserID   int32
	Archived bool
	// ComputePool and AuxPool are for what names no pool; empty is the cluster's default.
	ComputePool, AuxPool string
	// Storage is where experiments keep checkpoints unless they say otherwise, secrets
	// included; nil is the cluster's. It must not be changed.
	Storage *expconf.Storage
	// Unix is laid over the accounts of users.
	Unix Account
	// Members are the users who may use it beside its owner, where not everybody may: see CheckUser.
	Members []int32
}

// CheckUser refuses a user who may not run anything in the workspace. One that has storage keys or a Unix account gives
// them to what runs in it, and so is for its owner, its members and administrators.
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
	return status.New(status.PermissionDenied, "workspace '%s' has %s and is for its owner, members and administrators; "+
		"its owner can add you to its memberIds", w.Name, gives)
}

// IsOwnedBy says whether a user may change what is in the workspace because it is theirs. The first one
// is the cluster's: who is named as its owner there has no more rights than any other.
func (w Workspace) IsOwnedBy(user *apiv1.User) bool {
	return w.ID != First && w.UserID == user.GetId()
}

// Project is what experiments ask of one.
type Project struct {
	ID, WorkspaceID int32
	Name, Key       string
	// UserID is the owner's.
	UserID int32
	// Archived also says that its workspace is.
	Archived bool
}

// reader answers what others ask. Errors have the code NotFound unless something else is
// said.
type reader struct{ *shared }

// Workspace is the workspace with that id.
func (r *reader) Workspace(id int32) (Workspace, error) {
	w, found := r.table.findWorkspace(id)
	if !found {
		return Workspace{}, status.Missing("workspace", strconv.Itoa(int(id)))
	}
	return w.answer(), nil
}

// Storages lists where workspaces say that checkpoints are kept.
func (r *reader) Storages() []*expconf.Storage {
	var out []*expconf.Storage
	for _, w := range r.table.listWorkspaces() {
		if s := w.answer().Storage; s != nil {
			out = append(out, s)
		}
	}
	return out
}

// WorkspaceNamed is the workspace with exactly that name.
func (r *reader) WorkspaceNamed(name string) (Workspace, error) {
	for _, w := range r.table.listWorkspaces() {
		if w.Name == name {
			return w.answer(), nil
		}
	}
	return Workspace{}, status.Missing("workspace", name)
}

// WorkspaceName is the name of a workspace, or its number where it was deleted.
func (r *reader) WorkspaceName(id int32) string {
	if w, found := r.table.findWorkspace(id); found {
		return w.Name
	}
	return strconv.Itoa(int(id))
}

// OpenWorkspace is a workspace that takes something new: not an archived one, nor one that is
// being deleted. Those are not found either: clients of Determined 0.38.1 expect that.
func (r *reader) OpenWorkspace(id int32) (Workspace, error) {
	w, found := r.table.findWorkspace(id)
	if !found {
		return Workspace{}, status.Missing("workspace", strconv.Itoa(int(id)))
	}
	return w.answer(), w.checkOpen()
}

// CheckWorkspace refuses what OpenWorkspace refuses, inside the transaction that stores what
// belongs to the workspace: one whose deletion has begun gets nothing more.
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

// Project is the project with that id.
func (r *reader) Project(id int32) (Project, error) {
	p, found := r.table.findProject(id)
	if !found {
		return Project{}, status.Missing("project", strconv.Itoa(int(id)))
	}
	return r.answerProject(p), nil
}

// ProjectNamed is the project with exactly that name in the workspace with that one.
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

// OpenProject is a project that takes new experiments, inside the transaction that stores
// one: a project whose deletion has begun gets none. Archived ones and those that are being
// deleted are refused as FailedPrecondition, and their workspaces as by OpenWorkspace.
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

// checkOpen refuses a workspace that takes nothing new.
func (w workspaceRecord) checkOpen() error {
	switch {
	case w.Archived:
		return status.New(status.NotFound, "workspace '%s' is archived; unarchive it, or choose another", w.Name)
	case w.Deletion != notDeleted:
		return status.New(status.NotFound, "workspace '%s' is being deleted; choose another", w.Name)
	}
	return nil
}

// checkOpen refuses a project that takes nothing new.
func (p projectRecord) checkOpen() error {
	switch {
	case p.Archived:
		return status.New(status.FailedPrecondition, "project '%s' is archived; unarchive it, or choose another", p.Name)
	case p.Deletion != notDeleted:
		return status.New(status.FailedPrecondition, "project '%s' is being deleted; choose another", p.Name)
	}
	return nil
}
