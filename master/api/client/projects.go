package client

import (
	"context"
	"net/http"
	"net/url"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// projects are the calls about projects.
type projects struct{ *transport }

// Projects lists the projects of a workspace, or of all if it is 0, by ID. archived includes archived
// ones.
func (p projects) Projects(ctx context.Context, workspace int32, archived bool) (all []*apiv1.Project, err error) {
	query := url.Values{"sortBy": {"SORT_BY_ID"}}
	if !archived {
		query.Set("archived", "false")
	}
	err = readPages(0, query, func() (int, *apiv1.Pagination, error) {
		out := &apiv1.GetWorkspaceProjectsResponse{}
		err := p.do(ctx, call{op: "list projects", method: http.MethodGet, path: workspacePath(workspace) + "/projects", query: query, out: out})
		all = append(all, out.GetProjects()...)
		return len(all), out.GetPagination(), err
	})
	return all, err
}

// Project returns one project.
func (p projects) Project(ctx context.Context, id int32) (*apiv1.Project, error) {
	out := &apiv1.GetProjectResponse{}
	err := p.do(ctx, call{op: "get project " + number(id), method: http.MethodGet, path: projectPath(id), out: out})
	return out.GetProject(), err
}

// CreateProject creates a project. A lost response is an error, because it may have been created.
func (p projects) CreateProject(ctx context.Context, in *apiv1.PostProjectRequest) (*apiv1.Project, error) {
	out := &apiv1.PostProjectResponse{}
	path := workspacePath(in.GetWorkspaceId()) + "/projects"
	err := p.do(ctx, call{op: "create project " + in.GetName(), method: http.MethodPost, path: path, in: in, out: out, once: true})
	return out.GetProject(), err
}

// PatchProject changes the fields that are set.
func (p projects) PatchProject(ctx context.Context, id int32, in *apiv1.PatchProject) (*apiv1.Project, error) {
	out := &apiv1.PatchProjectResponse{}
	err := p.do(ctx, call{op: "change project " + number(id), method: http.MethodPatch, path: projectPath(id), in: in, out: out})
	return out.GetProject(), err
}

// ArchiveProject archives or unarchives a project.
func (p projects) ArchiveProject(ctx context.Context, id int32, archived bool) error {
	verb := archiveVerb(archived)
	return p.do(ctx, call{op: verb + " project " + number(id), method: http.MethodPost, path: projectPath(id) + "/" + verb})
}

// PutProjectNotes replaces the notes of a project.
func (p projects) PutProjectNotes(ctx context.Context, id int32, notes []*apiv1.Note) error {
	in := &apiv1.PutProjectNotesRequest{ProjectId: id, Notes: notes}
	return p.do(ctx, call{op: "write the notes of project " + number(id), method: http.MethodPut, path: projectPath(id) + "/notes", in: in})
}

// MoveProject moves a project with its experiments to another workspace.
func (p projects) MoveProject(ctx context.Context, id, workspace int32) error {
	in := &apiv1.MoveProjectRequest{ProjectId: id, DestinationWorkspaceId: workspace}
	return p.do(ctx, call{op: "move project " + number(id), method: http.MethodPost, path: projectPath(id) + "/move", in: in})
}

// DeleteProject starts the deletion of a project with its experiments, and reports whether it has already
// ended.
func (p projects) DeleteProject(ctx context.Context, id int32) (done bool, err error) {
	out := &apiv1.DeleteProjectResponse{}
	err = p.do(ctx, call{op: "delete project " + number(id), method: http.MethodDelete, path: projectPath(id), out: out})
	return out.GetCompleted(), err
}

func projectPath(id int32) string { return "/api/v1/projects/" + number(id) }
