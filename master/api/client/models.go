package client

import (
	"context"
	"net/http"
	"net/url"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// models are the calls about the model registry.
type models struct{ *transport }

// ModelQuery selects models.
type ModelQuery struct {
	// Workspaces are the names of their workspaces; empty selects all.
	Workspaces []string
	// Labels selects models that have all of these labels.
	Labels []string
	// Archived includes archived models.
	Archived bool
}

// Models lists models in the order of their creation.
func (m models) Models(ctx context.Context, q ModelQuery) (all []*apiv1.Model, err error) {
	query := url.Values{"workspaceNames": q.Workspaces, "labels": q.Labels}
	if !q.Archived {
		query.Set("archived", "false")
	}
	err = readPages(0, query, func() (int, *apiv1.Pagination, error) {
		out := &apiv1.GetModelsResponse{}
		err := m.do(ctx, call{op: "list models", method: http.MethodGet, path: "/api/v1/models", query: query, out: out})
		all = append(all, out.GetModels()...)
		return len(all), out.GetPagination(), err
	})
	return all, err
}

// ModelVersions returns a model, given by name or ID, with all of its versions, oldest first.
func (m models) ModelVersions(ctx context.Context, name string) (*apiv1.GetModelVersionsResponse, error) {
	all := &apiv1.GetModelVersionsResponse{}
	query := url.Values{"sortBy": {"SORT_BY_VERSION"}, "orderBy": {"ORDER_BY_ASC"}}
	err := readPages(0, query, func() (int, *apiv1.Pagination, error) {
		out := &apiv1.GetModelVersionsResponse{}
		path := "/api/v1/models/" + url.PathEscape(name) + "/versions"
		err := m.do(ctx, call{op: "describe model " + name, method: http.MethodGet, path: path, query: query, out: out})
		all.Model, all.ModelVersions = out.GetModel(), append(all.ModelVersions, out.GetModelVersions()...)
		return len(all.ModelVersions), out.GetPagination(), err
	})
	return all, err
}

// WorkspaceNames returns the names of the workspaces that the user may see, by ID.
func (m models) WorkspaceNames(ctx context.Context) (map[int32]string, error) {
	out := &apiv1.GetWorkspacesResponse{}
	err := m.do(ctx, call{op: "list workspaces", method: http.MethodGet, path: "/api/v1/workspaces", out: out})
	names := map[int32]string{}
	for _, w := range out.GetWorkspaces() {
		names[w.GetId()] = w.GetName()
	}
	return names, err
}
