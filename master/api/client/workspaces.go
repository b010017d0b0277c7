package client

import (
	"context"
	"net/http"
	"net/url"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// workspaces are the calls about workspaces.
type workspaces struct{ *transport }

// Workspaces lists workspaces by ID. archived includes archived ones.
func (w workspaces) Workspaces(ctx context.Context, archived bool) (all []*apiv1.Workspace, err error) {
	query := url.Values{"sortBy": {"SORT_BY_ID"}}
	if !archived {
		query.Set("archived", "false")
	}
	err = readPages(0, query, func() (int, *apiv1.Pagination, error) {
		out := &apiv1.GetWorkspacesResponse{}
		err := w.do(ctx, call{op: "list workspaces", method: http.MethodGet, path: "/api/v1/workspaces", query: query, out: out})
		all = append(all, out.GetWorkspaces()...)
		return len(all), out.GetPagination(), err
	})
	return all, err
}

// WorkspaceNames returns the names of the workspaces that the user may see, by ID.
func (w workspaces) WorkspaceNames(ctx context.Context) (map[int32]string, error) {
	list, err := w.Workspaces(ctx, true)
	names := map[int32]string{}
	for _, x := range list {
		names[x.GetId()] = x.GetName()
	}
	return names, err
}

// Workspace returns one workspace.
func (w workspaces) Workspace(ctx context.Context, id int32) (*apiv1.Workspace, error) {
	out := &apiv1.GetWorkspaceResponse{}
	err := w.do(ctx, call{op: "get workspace " + number(id), method: http.MethodGet, path: workspacePath(id), out: out})
	return out.GetWorkspace(), err
}

// CreateWorkspace creates a workspace. A lost response is an error, because it may have been created.
func (w workspaces) CreateWorkspace(ctx context.Context, in *apiv1.PostWorkspaceRequest) (*apiv1.Workspace, error) {
	out := &apiv1.PostWorkspaceResponse{}
	err := w.do(ctx, call{op: "create workspace " + in.GetName(), method: http.MethodPost, path: "/api/v1/workspaces", in: in, out: out, once: true})
	return out.GetWorkspace(), err
}

// PatchWorkspace changes the fields that are set.
func (w workspaces) PatchWorkspace(ctx context.Context, id int32, in *apiv1.PatchWorkspace) (*apiv1.Workspace, error) {
	out := &apiv1.PatchWorkspaceResponse{}
	err := w.do(ctx, call{op: "change workspace " + number(id), method: http.MethodPatch, path: workspacePath(id), in: in, out: out})
	return out.GetWorkspace(), err
}

// ArchiveWorkspace archives or unarchives a workspace.
func (w workspaces) ArchiveWorkspace(ctx context.Context, id int32, archived bool) error {
	verb := archiveVerb(archived)
	return w.do(ctx, call{op: verb + " workspace " + number(id), method: http.MethodPost, path: workspacePath(id) + "/" + verb})
}

// DeleteWorkspace starts the deletion of a workspace with all that it contains, and reports whether it
// has already ended.
func (w workspaces) DeleteWorkspace(ctx context.Context, id int32) (done bool, err error) {
	out := &apiv1.DeleteWorkspaceResponse{}
	err = w.do(ctx, call{op: "delete workspace " + number(id), method: http.MethodDelete, path: workspacePath(id), out: out})
	return out.GetCompleted(), err
}

func archiveVerb(archived bool) string {
	if archived {
		return "archive"
	}
	return "unarchive"
}

func workspacePath(id int32) string { return "/api/v1/workspaces/" + number(id) }
