package server

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/server/query"
)

// Projects manages the projects of experiments.
type Projects interface {
	// ListProjects returns the projects of a workspace, or all if workspace is 0, sorted by ID.
	ListProjects(workspace int32) []*apiv1.Project
	ShowProject(id int32) (*apiv1.Project, error)
	ProjectWithKey(key string) (*apiv1.Project, error)
	CreateProject(ctx context.Context, by *apiv1.User, r *apiv1.PostProjectRequest) (*apiv1.Project, error)
	PatchProject(ctx context.Context, by *apiv1.User, id int32, p *apiv1.PatchProject) (*apiv1.Project, error)
	SetProjectArchived(ctx context.Context, by *apiv1.User, id int32, archived bool) error
	// MoveProject moves a project to another workspace.
	MoveProject(ctx context.Context, by *apiv1.User, id, workspace int32) error
	// SetNotes replaces the notes of a project by the result of change.
	SetNotes(ctx context.Context, by *apiv1.User, id int32, change func([]*apiv1.Note) []*apiv1.Note) ([]*apiv1.Note, error)
	// DeleteProject starts the deletion of a project with its experiments, and reports whether it is
	// already complete.
	DeleteProject(ctx context.Context, by *apiv1.User, id int32) (done bool, err error)
}

// projectCalls serves the calls about projects.
type projectCalls struct{ *shared }

func (p *projectCalls) routes() []route {
	if p.cfg.Workspaces == nil {
		return nil
	}
	const one = "projects/{project}"
	return []route{
		getRoute("workspaces/{workspace}/projects", user, plainCall(p.projects)),
		getRoute(one, user, plainCall(p.project)),
		getRoute("projects/key/{key}", user, plainCall(p.projectByKey)),
		auditedRoute("project.create", postRoute("workspaces/{workspace}/projects", login, unaryCall(p.create))),
		auditedRoute("project.change", route{method: http.MethodPatch, path: one, access: login, endpoint: unaryCall(p.patch)}),
		auditedRoute("project.archive", postRoute(one+"/archive", login, plainCall(p.archive))),
		auditedRoute("project.unarchive", postRoute(one+"/unarchive", login, plainCall(p.unarchive))),
		auditedRoute("project.move", postRoute(one+"/move", login, unaryCall(p.move))),
		auditedRoute("project.notes", postRoute(one+"/notes", login, unaryCall(p.addNote))),
		auditedRoute("project.notes", route{method: http.MethodPut, path: one + "/notes", access: login, endpoint: unaryCall(p.putNotes)}),
		auditedRoute("project.delete", route{method: http.MethodDelete, path: one, access: login, endpoint: plainCall(p.remove)}),
	}
}

func (c *call) projectID() (int32, error) { return c.numberInPath("project") }

func byProjectID(a, b *apiv1.Project) int { return cmp.Compare(a.GetId(), b.GetId()) }

var projectOrder = map[string]func(a, b *apiv1.Project) int{
	"":                      byProjectID,
	"SORT_BY_ID":            byProjectID,
	"SORT_BY_CREATION_TIME": byProjectID, // IDs are assigned in the order of creation
	"SORT_BY_NAME":          func(a, b *apiv1.Project) int { return compareNames(a.GetName(), b.GetName()) },
	"SORT_BY_DESCRIPTION":   func(a, b *apiv1.Project) int { return strings.Compare(a.GetDescription(), b.GetDescription()) },
	"SORT_BY_LAST_EXPERIMENT_START_TIME": func(a, b *apiv1.Project) int {
		return lastStart(a).Compare(lastStart(b))
	},
}

// lastStart returns the start time of a project's last experiment, or the zero time.
func lastStart(p *apiv1.Project) time.Time {
	if p.LastExperimentStartedAt == nil {
		return time.Time{}
	}
	return p.GetLastExperimentStartedAt().AsTime()
}

func (p *projectCalls) projects(c *call) (*apiv1.GetWorkspaceProjectsResponse, error) {
	params := c.query()
	id, err := c.workspaceID()
	if err == nil && id != 0 {
		_, err = p.cfg.Workspaces.Get(c.user, id)
	}
	if err != nil {
		return nil, err
	}
	name, archived, users, ids := params.Text("name"), params.Flag("archived"), params.All("users"), params.Numbers("userIds")
	list := slices.DeleteFunc(p.cfg.Workspaces.ListProjects(id), func(m *apiv1.Project) bool {
		return !isNamed(m.GetName(), name) || archived != nil && m.GetArchived() != *archived ||
			!isOneOf(users, ids, m.GetUsername(), m.GetUserId())
	})
	query.Sort(params, list, projectOrder)
	part, page := query.Cut(params, list)
	return &apiv1.GetWorkspaceProjectsResponse{Projects: part, Pagination: page}, params.Err()
}

func (p *projectCalls) project(c *call) (*apiv1.GetProjectResponse, error) {
	id, err := c.projectID()
	if err != nil {
		return nil, err
	}
	out, err := p.cfg.Workspaces.ShowProject(id)
	return &apiv1.GetProjectResponse{Project: out}, err
}

func (p *projectCalls) projectByKey(c *call) (*apiv1.GetProjectResponse, error) {
	out, err := p.cfg.Workspaces.ProjectWithKey(c.PathValue("key"))
	return &apiv1.GetProjectResponse{Project: out}, err
}

func (p *projectCalls) create(c *call, in *apiv1.PostProjectRequest) (*apiv1.PostProjectResponse, error) {
	id, err := c.workspaceID()
	if err != nil {
		return nil, err
	}
	in.WorkspaceId = id
	out, err := p.cfg.Workspaces.CreateProject(c.Context(), c.user, in)
	c.noteTarget(shownNumber(out.GetId()), out.GetName())
	return &apiv1.PostProjectResponse{Project: out}, err
}

func (p *projectCalls) patch(c *call, in *apiv1.PatchProject) (*apiv1.PatchProjectResponse, error) {
	id, err := c.projectID()
	if err != nil {
		return nil, err
	}
	out, err := p.cfg.Workspaces.PatchProject(c.Context(), c.user, id, in)
	return &apiv1.PatchProjectResponse{Project: out}, err
}

func (p *projectCalls) archive(c *call) (*apiv1.ArchiveProjectResponse, error) {
	return &apiv1.ArchiveProjectResponse{}, p.setArchived(c, true)
}

func (p *projectCalls) unarchive(c *call) (*apiv1.UnarchiveProjectResponse, error) {
	return &apiv1.UnarchiveProjectResponse{}, p.setArchived(c, false)
}

func (p *projectCalls) setArchived(c *call, archived bool) error {
	id, err := c.projectID()
	if err != nil {
		return err
	}
	return p.cfg.Workspaces.SetProjectArchived(c.Context(), c.user, id, archived)
}

func (p *projectCalls) move(c *call, in *apiv1.MoveProjectRequest) (*apiv1.MoveProjectResponse, error) {
	id, err := c.projectID()
	if err != nil {
		return nil, err
	}
	c.noteTarget(shownNumber(id), "workspace="+shownNumber(in.GetDestinationWorkspaceId()))
	return &apiv1.MoveProjectResponse{}, p.cfg.Workspaces.MoveProject(c.Context(), c.user, id, in.GetDestinationWorkspaceId())
}

func (p *projectCalls) addNote(c *call, in *apiv1.Note) (*apiv1.AddProjectNoteResponse, error) {
	out, err := p.setNotes(c, func(old []*apiv1.Note) []*apiv1.Note { return append(old, in) })
	return &apiv1.AddProjectNoteResponse{Notes: out}, err
}

func (p *projectCalls) putNotes(c *call, in *apiv1.PutProjectNotesRequest) (*apiv1.PutProjectNotesResponse, error) {
	out, err := p.setNotes(c, func([]*apiv1.Note) []*apiv1.Note { return in.GetNotes() })
	return &apiv1.PutProjectNotesResponse{Notes: out}, err
}

func (p *projectCalls) setNotes(c *call, change func([]*apiv1.Note) []*apiv1.Note) ([]*apiv1.Note, error) {
	id, err := c.projectID()
	if err != nil {
		return nil, err
	}
	return p.cfg.Workspaces.SetNotes(c.Context(), c.user, id, change)
}

func (p *projectCalls) remove(c *call) (*apiv1.DeleteProjectResponse, error) {
	id, err := c.projectID()
	if err != nil {
		return nil, err
	}
	done, err := p.cfg.Workspaces.DeleteProject(c.Context(), c.user, id)
	return &apiv1.DeleteProjectResponse{Completed: done}, err
}
