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
		err := m.do(ctx, call{op: "describe model " + name, method: http.MethodGet, path: modelPath(name) + "/versions", query: query, out: out})
		all.Model, all.ModelVersions = out.GetModel(), append(all.ModelVersions, out.GetModelVersions()...)
		return len(all.ModelVersions), out.GetPagination(), err
	})
	return all, err
}

// Model returns one model, given by name or ID.
func (m models) Model(ctx context.Context, name string) (*apiv1.Model, error) {
	out := &apiv1.GetModelResponse{}
	err := m.do(ctx, call{op: "get model " + name, method: http.MethodGet, path: modelPath(name), out: out})
	return out.GetModel(), err
}

// CreateModel creates a model. A lost response is an error, because it may have been created.
func (m models) CreateModel(ctx context.Context, in *apiv1.PostModelRequest) (*apiv1.Model, error) {
	out := &apiv1.PostModelResponse{}
	err := m.do(ctx, call{op: "create model " + in.GetName(), method: http.MethodPost, path: "/api/v1/models", in: in, out: out, once: true})
	return out.GetModel(), err
}

// PatchModel changes the fields that are set.
func (m models) PatchModel(ctx context.Context, name string, in *apiv1.PatchModel) (*apiv1.Model, error) {
	out := &apiv1.PatchModelResponse{}
	err := m.do(ctx, call{op: "change model " + name, method: http.MethodPatch, path: modelPath(name), in: in, out: out})
	return out.GetModel(), err
}

// ArchiveModel archives or unarchives a model.
func (m models) ArchiveModel(ctx context.Context, name string, archived bool) error {
	verb := archiveVerb(archived)
	return m.do(ctx, call{op: verb + " model " + name, method: http.MethodPost, path: modelPath(name) + "/" + verb})
}

// MoveModel moves a model to another workspace.
func (m models) MoveModel(ctx context.Context, name string, workspace int32) error {
	in := &apiv1.MoveModelRequest{ModelName: name, DestinationWorkspaceId: workspace}
	return m.do(ctx, call{op: "move model " + name, method: http.MethodPost, path: modelPath(name) + "/move", in: in})
}

// DeleteModel deletes a model with its versions. Their checkpoints stay.
func (m models) DeleteModel(ctx context.Context, name string) error {
	return m.do(ctx, call{op: "delete model " + name, method: http.MethodDelete, path: modelPath(name)})
}

// RegisterVersion registers a checkpoint as the next version of a model. A lost response is an error,
// because the version may have been registered.
func (m models) RegisterVersion(ctx context.Context, in *apiv1.PostModelVersionRequest) (*apiv1.ModelVersion, error) {
	out := &apiv1.PostModelVersionResponse{}
	path := modelPath(in.GetModelName()) + "/versions"
	err := m.do(ctx, call{op: "register a version of model " + in.GetModelName(), method: http.MethodPost, path: path, in: in, out: out, once: true})
	return out.GetModelVersion(), err
}

// ModelVersion returns a version of a model.
func (m models) ModelVersion(ctx context.Context, name string, version int32) (*apiv1.ModelVersion, error) {
	out := &apiv1.GetModelVersionResponse{}
	err := m.do(ctx, call{op: "get " + versionOf(name, version), method: http.MethodGet, path: versionPath(name, version), out: out})
	return out.GetModelVersion(), err
}

// PatchVersion changes the fields of a version that are set.
func (m models) PatchVersion(ctx context.Context, name string, version int32, in *apiv1.PatchModelVersion) (*apiv1.ModelVersion, error) {
	out := &apiv1.PatchModelVersionResponse{}
	err := m.do(ctx, call{op: "change " + versionOf(name, version), method: http.MethodPatch, path: versionPath(name, version), in: in, out: out})
	return out.GetModelVersion(), err
}

// DeleteVersion deletes a version of a model. Its checkpoint stays.
func (m models) DeleteVersion(ctx context.Context, name string, version int32) error {
	return m.do(ctx, call{op: "delete " + versionOf(name, version), method: http.MethodDelete, path: versionPath(name, version)})
}

func versionOf(name string, version int32) string {
	return "version " + number(version) + " of model " + name
}

func versionPath(name string, version int32) string {
	return modelPath(name) + "/versions/" + number(version)
}

func modelPath(name string) string { return "/api/v1/models/" + url.PathEscape(name) }
