package server

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/server/query"
)

// Models is the model registry. Models are identified by name or ID. The caller owns the returned
// messages.
type Models interface {
	// List returns the models sorted by ID.
	List() []*apiv1.Model
	Get(model string) (*apiv1.Model, error)
	// Labels returns the labels used in a workspace, or in all if workspace is 0, most frequent first.
	Labels(workspace int32) []string
	Create(ctx context.Context, by *apiv1.User, r *apiv1.PostModelRequest) (*apiv1.Model, error)
	Patch(ctx context.Context, by *apiv1.User, model string, p *apiv1.PatchModel) (*apiv1.Model, error)
	SetArchived(ctx context.Context, by *apiv1.User, model string, archived bool) error
	Delete(ctx context.Context, by *apiv1.User, model string) error

	// Numbers returns the version numbers of a model in ascending order.
	Numbers(ctx context.Context, model string) (*apiv1.Model, []int32, error)
	Version(ctx context.Context, model string, number int32) (*apiv1.ModelVersion, error)
	Register(ctx context.Context, by *apiv1.User, model string, r *apiv1.PostModelVersionRequest) (*apiv1.ModelVersion, error)
	PatchVersion(ctx context.Context, by *apiv1.User, model string, number int32, p *apiv1.PatchModelVersion) (*apiv1.ModelVersion, error)
	DeleteVersion(ctx context.Context, by *apiv1.User, model string, number int32) error
}

// modelCalls serves the model registry. Programs in tasks may register models.
type modelCalls struct{ *shared }

func (m *modelCalls) routes() []route {
	if m.cfg.Models == nil {
		return nil
	}
	const one, version = "models/{model}", "models/{model}/versions/{version}"
	return []route{
		getRoute("models", user, plainCall(m.models)),
		getRoute("model/labels", user, plainCall(m.labels)),
		getRoute(one, user, plainCall(m.model)),
		getRoute(one+"/versions", user, plainCall(m.versions)),
		getRoute(version, user, plainCall(m.version)),
		auditedRoute("model.create", postRoute("models", user, unaryCall(m.create))),
		auditedRoute("model.change", route{method: http.MethodPatch, path: one, access: user, endpoint: unaryCall(m.patch)}),
		auditedRoute("model.move", postRoute(one+"/move", user, unaryCall(m.move))),
		auditedRoute("model.archive", postRoute(one+"/archive", user, plainCall(m.archive))),
		auditedRoute("model.unarchive", postRoute(one+"/unarchive", user, plainCall(m.unarchive))),
		auditedRoute("model.delete", route{method: http.MethodDelete, path: one, access: user, endpoint: plainCall(m.remove)}),
		auditedRoute("model.register", postRoute(one+"/versions", user, unaryCall(m.register))),
		auditedRoute("model.change", route{method: http.MethodPatch, path: version, access: user, endpoint: unaryCall(m.patchVersion)}),
		auditedRoute("model.delete_version", route{method: http.MethodDelete, path: version, access: user, endpoint: plainCall(m.removeVersion)}),
	}
}

func byModelID(a, b *apiv1.Model) int { return cmp.Compare(a.GetId(), b.GetId()) }

var modelOrder = map[string]func(a, b *apiv1.Model) int{
	"":                    byModelID,
	"SORT_BY_NAME":        func(a, b *apiv1.Model) int { return compareNames(a.GetName(), b.GetName()) },
	"SORT_BY_DESCRIPTION": func(a, b *apiv1.Model) int { return strings.Compare(a.GetDescription(), b.GetDescription()) },
	"SORT_BY_CREATION_TIME": func(a, b *apiv1.Model) int {
		return a.GetCreationTime().AsTime().Compare(b.GetCreationTime().AsTime())
	},
	"SORT_BY_LAST_UPDATED_TIME": func(a, b *apiv1.Model) int {
		return a.GetLastUpdatedTime().AsTime().Compare(b.GetLastUpdatedTime().AsTime())
	},
	"SORT_BY_NUM_VERSIONS": func(a, b *apiv1.Model) int { return cmp.Compare(a.GetNumVersions(), b.GetNumVersions()) },
	"SORT_BY_WORKSPACE":    func(a, b *apiv1.Model) int { return cmp.Compare(a.GetWorkspaceId(), b.GetWorkspaceId()) },
}

func (m *modelCalls) models(c *call) (*apiv1.GetModelsResponse, error) {
	params := c.query()
	keep, err := m.filter(c)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(m.cfg.Models.List(), func(x *apiv1.Model) bool { return !keep(x) })
	query.Sort(params, list, modelOrder)
	part, p := query.Cut(params, list)
	return &apiv1.GetModelsResponse{Models: part, Pagination: p}, params.Err()
}

// filter returns a predicate for the requested models.
func (m *modelCalls) filter(c *call) (keep func(*apiv1.Model) bool, err error) {
	params := c.query()
	name, description := strings.ToLower(params.Text("name")), strings.ToLower(params.Text("description"))
	id, archived, labels := int32(params.Number("id")), params.Flag("archived"), params.All("labels")
	users, userIDs, workspaces := params.All("users"), params.Numbers("userIds"), params.Numbers("workspaceIds")
	if names := params.All("workspaceNames"); len(names) > 0 {
		found, err := m.workspacesNamed(c, names)
		if err != nil {
			return nil, err
		}
		workspaces = append(workspaces, found...)
	}
	return func(x *apiv1.Model) bool {
		return strings.Contains(strings.ToLower(x.GetName()), name) && strings.Contains(strings.ToLower(x.GetDescription()), description) &&
			(id == 0 || x.GetId() == id) && (archived == nil || x.GetArchived() == *archived) &&
			!slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(x.GetLabels(), l) }) &&
			isOneOf(users, userIDs, x.GetUsername(), x.GetUserId()) && (len(workspaces) == 0 || slices.Contains(workspaces, x.GetWorkspaceId()))
	}, nil
}

// workspacesNamed returns the IDs of workspaces.
func (m *modelCalls) workspacesNamed(c *call, names []string) ([]int32, error) {
	var ids []int32
	for _, w := range m.cfg.Workspaces.List(c.user) {
		if i := slices.Index(names, w.GetName()); i >= 0 {
			ids, names = append(ids, w.GetId()), slices.Delete(slices.Clone(names), i, i+1)
		}
	}
	if len(names) > 0 {
		return nil, status.Missing("workspace", names[0])
	}
	return ids, nil
}

func (m *modelCalls) labels(c *call) (*apiv1.GetModelLabelsResponse, error) {
	return &apiv1.GetModelLabelsResponse{Labels: m.cfg.Models.Labels(int32(c.query().Number("workspaceId")))}, c.query().Err()
}

func (m *modelCalls) model(c *call) (*apiv1.GetModelResponse, error) {
	out, err := m.cfg.Models.Get(c.PathValue("model"))
	return &apiv1.GetModelResponse{Model: out}, err
}

func (m *modelCalls) create(c *call, in *apiv1.PostModelRequest) (*apiv1.PostModelResponse, error) {
	out, err := m.cfg.Models.Create(c.Context(), c.user, in)
	c.noteTarget(shownNumber(out.GetId()), out.GetName())
	return &apiv1.PostModelResponse{Model: out}, err
}

func (m *modelCalls) patch(c *call, in *apiv1.PatchModel) (*apiv1.PatchModelResponse, error) {
	out, err := m.cfg.Models.Patch(c.Context(), c.user, c.PathValue("model"), in)
	return &apiv1.PatchModelResponse{Model: out}, err
}

func (m *modelCalls) move(c *call, in *apiv1.MoveModelRequest) (*apiv1.MoveModelResponse, error) {
	c.noteTarget(c.PathValue("model"), "workspace="+shownNumber(in.GetDestinationWorkspaceId()))
	_, err := m.cfg.Models.Patch(c.Context(), c.user, c.PathValue("model"), &apiv1.PatchModel{WorkspaceId: &in.DestinationWorkspaceId})
	return &apiv1.MoveModelResponse{}, err
}

func (m *modelCalls) archive(c *call) (*apiv1.ArchiveModelResponse, error) {
	return &apiv1.ArchiveModelResponse{}, m.cfg.Models.SetArchived(c.Context(), c.user, c.PathValue("model"), true)
}

func (m *modelCalls) unarchive(c *call) (*apiv1.UnarchiveModelResponse, error) {
	return &apiv1.UnarchiveModelResponse{}, m.cfg.Models.SetArchived(c.Context(), c.user, c.PathValue("model"), false)
}

func (m *modelCalls) remove(c *call) (*apiv1.DeleteModelResponse, error) {
	return &apiv1.DeleteModelResponse{}, m.cfg.Models.Delete(c.Context(), c.user, c.PathValue("model"))
}

// versionOrder sorts version numbers, which are assigned in the order of creation.
var versionOrder = map[string]func(a, b int32) int{
	"": cmp.Compare[int32], "SORT_BY_VERSION": cmp.Compare[int32], "SORT_BY_CREATION_TIME": cmp.Compare[int32],
}

func (m *modelCalls) versions(c *call) (*apiv1.GetModelVersionsResponse, error) {
	params := c.query()
	name := c.PathValue("model")
	of, numbers, err := m.cfg.Models.Numbers(c.Context(), name)
	if err != nil {
		return nil, err
	}
	query.Sort(params, numbers, versionOrder)
	part, p := query.Cut(params, numbers)
	out := &apiv1.GetModelVersionsResponse{Model: of, Pagination: p}
	for _, n := range part {
		v, err := m.cfg.Models.Version(c.Context(), name, n)
		if status.Of(err) == status.NotFound {
			continue // deleted in the meantime
		}
		if err == nil {
			err = m.hideVersion(c, v)
		}
		if err != nil {
			return nil, err
		}
		out.ModelVersions = append(out.ModelVersions, v)
	}
	return out, params.Err()
}

func (m *modelCalls) version(c *call) (*apiv1.GetModelVersionResponse, error) {
	n, err := c.numberInPath("version")
	if err != nil {
		return nil, err
	}
	out, err := m.cfg.Models.Version(c.Context(), c.PathValue("model"), n)
	if err == nil {
		err = m.hideVersion(c, out)
	}
	return &apiv1.GetModelVersionResponse{ModelVersion: out}, err
}

func (m *modelCalls) register(c *call, in *apiv1.PostModelVersionRequest) (*apiv1.PostModelVersionResponse, error) {
	c.noteTarget(c.PathValue("model"), "checkpoint="+in.GetCheckpointUuid())
	out, err := m.cfg.Models.Register(c.Context(), c.user, c.PathValue("model"), in)
	return &apiv1.PostModelVersionResponse{ModelVersion: out}, err
}

func (m *modelCalls) patchVersion(c *call, in *apiv1.PatchModelVersion) (*apiv1.PatchModelVersionResponse, error) {
	n, err := c.numberInPath("version")
	if err != nil {
		return nil, err
	}
	c.noteTarget(c.PathValue("model"), "version="+shownNumber(n))
	out, err := m.cfg.Models.PatchVersion(c.Context(), c.user, c.PathValue("model"), n, in)
	if err == nil {
		err = m.hideVersion(c, out)
	}
	return &apiv1.PatchModelVersionResponse{ModelVersion: out}, err
}

func (m *modelCalls) removeVersion(c *call) (*apiv1.DeleteModelVersionResponse, error) {
	n, err := c.numberInPath("version")
	if err != nil {
		return nil, err
	}
	c.noteTarget(c.PathValue("model"), "version="+shownNumber(n))
	return &apiv1.DeleteModelVersionResponse{}, m.cfg.Models.DeleteVersion(c.Context(), c.user, c.PathValue("model"), n)
}
