package workspace

import (
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	expconf "github.com/det-deploy/det-deploy/master/experiment/config"
)

// views converts workspaces and projects to API messages.
type views struct{ *shared }

// List returns all workspaces ordered by ID, with the pins of the user.
func (v *views) List(by *apiv1.User) []*apiv1.Workspace {
	all, counts := v.table.listWorkspaces(), v.count()
	out := make([]*apiv1.Workspace, 0, len(all))
	for _, w := range all {
		out = append(out, v.showWorkspace(by, w, counts))
	}
	return out
}

// Get returns a workspace with the pin of the user, or NotFound.
func (v *views) Get(by *apiv1.User, id int32) (*apiv1.Workspace, error) {
	w, found := v.table.findWorkspace(id)
	if !found {
		return nil, missingWorkspace(id)
	}
	return v.showWorkspace(by, w, v.count()), nil
}

// ListProjects returns the projects of a workspace ordered by ID. Workspace 0 means all workspaces.
func (v *views) ListProjects(workspaceID int32) []*apiv1.Project {
	all, counts := v.table.listProjects(workspaceID), v.count()
	out := make([]*apiv1.Project, 0, len(all))
	for _, p := range all {
		out = append(out, v.showProject(p, counts[p.ID]))
	}
	return out
}

// ShowProject returns a project, or NotFound.
func (v *views) ShowProject(id int32) (*apiv1.Project, error) {
	p, found := v.table.findProject(id)
	if !found {
		return nil, missingProject(id)
	}
	return v.showProject(p, v.count()[p.ID]), nil
}

// ProjectWithKey returns the project with a key, ignoring case. It returns NotFound if no project
// has the key.
func (v *views) ProjectWithKey(key string) (*apiv1.Project, error) {
	p, found := v.table.findKey(key)
	if !found {
		return nil, missingKey(key)
	}
	return v.showProject(p, v.count()[p.ID]), nil
}

func (v *views) showWorkspace(by *apiv1.User, w *known, counts map[int32]Counts) *apiv1.Workspace {
	out := &apiv1.Workspace{
		Id: w.ID, Name: w.Name, Archived: w.Archived, UserId: w.UserID, Username: v.nameUser(w.UserID), Immutable: w.ID == First,
		State: showDeletion(w.Deletion), ErrorMessage: w.Error, CheckpointStorageConfig: showStorage(w.storage),
		DefaultComputePool: optional(w.Compute), DefaultAuxPool: optional(w.Aux), MemberIds: w.Members,
	}
	if !w.Unix.IsZero() {
		out.AgentUserGroup = &apiv1.AgentUserGroup{AgentUid: w.Unix.UID, AgentGid: w.Unix.GID, AgentUser: w.Unix.User, AgentGroup: w.Unix.Group}
	}
	if at, pinned := w.Pinned[by.GetId()]; pinned {
		out.Pinned, out.PinnedAt = true, timestamppb.New(at)
	}
	for _, p := range v.table.listProjects(w.ID) {
		out.NumProjects++
		out.NumExperiments += counts[p.ID].Experiments
	}
	return out
}

func (v *views) showProject(p *projectRecord, n Counts) *apiv1.Project {
	out := &apiv1.Project{
		Id: p.ID, Name: p.Name, WorkspaceId: p.WorkspaceID, Description: p.Description, Notes: showNotes(p.Notes),
		NumExperiments: n.Experiments, NumActiveExperiments: n.Active, NumRuns: n.Runs, Archived: p.Archived,
		UserId: p.UserID, Username: v.nameUser(p.UserID), Immutable: p.ID == First, State: showDeletion(p.Deletion), ErrorMessage: p.Error, Key: p.Key,
	}
	if !n.LastStarted.IsZero() {
		out.LastExperimentStartedAt = timestamppb.New(n.LastStarted)
	}
	if w, found := v.table.findWorkspace(p.WorkspaceID); found {
		out.WorkspaceName, out.Archived = w.Name, p.Archived || w.Archived
	}
	return out
}

// count returns the numbers of experiments of all projects.
func (v *views) count() map[int32]Counts {
	e := v.experiments.Load()
	if e == nil {
		return nil
	}
	return (*e).Count()
}

func (v *views) nameUser(id int32) string {
	u, err := v.cfg.Users.User(id)
	if err != nil {
		return ""
	}
	return u.GetUsername()
}

func showDeletion(d deletion) apiv1.WorkspaceState {
	switch d {
	case deleting:
		return apiv1.WorkspaceState_WORKSPACE_STATE_DELETING
	case deleteFailed:
		return apiv1.WorkspaceState_WORKSPACE_STATE_DELETE_FAILED
	case notDeleted:
	}
	return apiv1.WorkspaceState_WORKSPACE_STATE_UNSPECIFIED
}

func showNotes(notes []note) []*apiv1.Note {
	var out []*apiv1.Note
	for _, n := range notes {
		out = append(out, &apiv1.Note{Name: n.Name, Contents: n.Contents})
	}
	return out
}

// showStorage returns a storage without its secrets, which only tasks receive.
func showStorage(s *expconf.Storage) *structpb.Struct {
	if s == nil {
		return nil
	}
	out, err := structpb.NewStruct(s.Show())
	if err != nil { // cannot fail: it was decoded from JSON
		return nil
	}
	return out
}

// optional returns a pointer to text, or nil if it is empty.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
