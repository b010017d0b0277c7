package server

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/server/query"
)

// Workspaces manages the workspaces of tasks, experiments, templates and models. The caller owns the
// returned messages.
type Workspaces interface {
	// List returns the workspaces visible to by, sorted by ID.
	List(by *apiv1.User) []*apiv1.Workspace
	Get(by *apiv1.User, id int32) (*apiv1.Workspace, error)
	Create(ctx context.Context, by *apiv1.User, r *apiv1.PostWorkspaceRequest) (*apiv1.Workspace, error)
	Patch(ctx context.Context, by *apiv1.User, id int32, p *apiv1.PatchWorkspace) (*apiv1.Workspace, error)
	SetArchived(ctx context.Context, by *apiv1.User, id int32, archived bool) error
	SetPinned(ctx context.Context, by *apiv1.User, id int32, pinned bool) error
	// Delete starts the deletion of a workspace with its contents, and reports whether it is already
	// complete.
	Delete(ctx context.Context, by *apiv1.User, id int32) (done bool, err error)

	Projects
}

// workspaceCalls serves the calls about workspaces.
type workspaceCalls struct{ *shared }

func (w *workspaceCalls) routes() []route {
	if w.cfg.Workspaces == nil {
		return nil
	}
	const one = "workspaces/{workspace}"
	return []route{
		getRoute("workspaces", user, plainCall(w.workspaces)),
		getRoute(one, user, plainCall(w.workspace)),
		getRoute(one+"/available-resource-pools", user, plainCall(w.pools)),
		getRoute(one+"/list-namespace-bindings", user, plainCall(w.namespaceBindings)),
		auditedRoute("workspace.create", postRoute("workspaces", login, unaryCall(w.create))),
		auditedRoute("workspace.change", route{method: http.MethodPatch, path: one, access: login, endpoint: unaryCall(w.patch)}),
		auditedRoute("workspace.archive", postRoute(one+"/archive", login, plainCall(w.archive))),
		auditedRoute("workspace.unarchive", postRoute(one+"/unarchive", login, plainCall(w.unarchive))),
		postRoute(one+"/pin", login, plainCall(w.pin)),
		postRoute(one+"/unpin", login, plainCall(w.unpin)),
		auditedRoute("workspace.delete", route{method: http.MethodDelete, path: one, access: login, endpoint: plainCall(w.remove)}),
	}
}

func (c *call) workspaceID() (int32, error) { return c.numberInPath("workspace") }

func byWorkspaceID(a, b *apiv1.Workspace) int { return cmp.Compare(a.GetId(), b.GetId()) }

var workspaceOrder = map[string]func(a, b *apiv1.Workspace) int{
	"":             byWorkspaceID,
	"SORT_BY_ID":   byWorkspaceID,
	"SORT_BY_NAME": func(a, b *apiv1.Workspace) int { return compareNames(a.GetName(), b.GetName()) },
}

// compareNames compares names without regard to case. Names that differ only in case are ordered by case.
func compareNames(a, b string) int {
	return cmp.Or(strings.Compare(strings.ToLower(a), strings.ToLower(b)), strings.Compare(a, b))
}

// isNamed reports whether a name equals the requested one, ignoring case. It requires the complete name
// because clients take the first result.
func isNamed(name, wanted string) bool { return wanted == "" || strings.EqualFold(name, wanted) }

func (w *workspaceCalls) workspaces(c *call) (*apiv1.GetWorkspacesResponse, error) {
	params := c.query()
	name, exact := params.Text("name"), params.Text("nameCaseSensitive")
	archived, pinned := params.Flag("archived"), params.Flag("pinned")
	users, ids := params.All("users"), params.Numbers("userIds")
	list := slices.DeleteFunc(w.cfg.Workspaces.List(c.user), func(m *apiv1.Workspace) bool {
		return !isNamed(m.GetName(), name) || exact != "" && m.GetName() != exact ||
			archived != nil && m.GetArchived() != *archived || pinned != nil && m.GetPinned() != *pinned ||
			!isOneOf(users, ids, m.GetUsername(), m.GetUserId())
	})
	query.Sort(params, list, workspaceOrder)
	part, p := query.Cut(params, list)
	return &apiv1.GetWorkspacesResponse{Workspaces: part, Pagination: p}, params.Err()
}

// isOneOf reports whether a user is in the requested names or IDs. Empty lists match all users.
func isOneOf(names []string, ids []int32, name string, id int32) bool {
	return len(names)+len(ids) == 0 || slices.Contains(names, name) || slices.Contains(ids, id)
}

func (w *workspaceCalls) workspace(c *call) (*apiv1.GetWorkspaceResponse, error) {
	out, err := w.find(c)
	return &apiv1.GetWorkspaceResponse{Workspace: out}, err
}

func (w *workspaceCalls) find(c *call) (*apiv1.Workspace, error) {
	id, err := c.workspaceID()
	if err != nil {
		return nil, err
	}
	return w.cfg.Workspaces.Get(c.user, id)
}

// pools returns all pools, because pools are not bound to workspaces.
func (w *workspaceCalls) pools(c *call) (*apiv1.ListRPsBoundToWorkspaceResponse, error) {
	if _, err := w.find(c); err != nil {
		return nil, err
	}
	var names []string
	if w.cfg.Queue != nil {
		for _, p := range w.cfg.Queue.PoolSettings() {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	part, p := query.Cut(c.query(), names)
	return &apiv1.ListRPsBoundToWorkspaceResponse{ResourcePools: part, Pagination: p}, c.query().Err()
}

// namespaceBindings returns an empty list.
func (w *workspaceCalls) namespaceBindings(c *call) (*apiv1.ListWorkspaceNamespaceBindingsResponse, error) {
	_, err := w.find(c)
	return &apiv1.ListWorkspaceNamespaceBindingsResponse{}, err
}

func (w *workspaceCalls) create(c *call, in *apiv1.PostWorkspaceRequest) (*apiv1.PostWorkspaceResponse, error) {
	out, err := w.cfg.Workspaces.Create(c.Context(), c.user, in)
	c.noteTarget(shownNumber(out.GetId()), out.GetName())
	return &apiv1.PostWorkspaceResponse{Workspace: out}, err
}

func (w *workspaceCalls) patch(c *call, in *apiv1.PatchWorkspace) (*apiv1.PatchWorkspaceResponse, error) {
	id, err := c.workspaceID()
	if err != nil {
		return nil, err
	}
	out, err := w.cfg.Workspaces.Patch(c.Context(), c.user, id, in)
	return &apiv1.PatchWorkspaceResponse{Workspace: out}, err
}

// change applies do to the workspace in the path.
func (w *workspaceCalls) change(c *call, do func(ctx context.Context, by *apiv1.User, id int32, on bool) error, on bool) error {
	id, err := c.workspaceID()
	if err != nil {
		return err
	}
	return do(c.Context(), c.user, id, on)
}

func (w *workspaceCalls) archive(c *call) (*apiv1.ArchiveWorkspaceResponse, error) {
	return &apiv1.ArchiveWorkspaceResponse{}, w.change(c, w.cfg.Workspaces.SetArchived, true)
}

func (w *workspaceCalls) unarchive(c *call) (*apiv1.UnarchiveWorkspaceResponse, error) {
	return &apiv1.UnarchiveWorkspaceResponse{}, w.change(c, w.cfg.Workspaces.SetArchived, false)
}

func (w *workspaceCalls) pin(c *call) (*apiv1.PinWorkspaceResponse, error) {
	return &apiv1.PinWorkspaceResponse{}, w.change(c, w.cfg.Workspaces.SetPinned, true)
}

func (w *workspaceCalls) unpin(c *call) (*apiv1.UnpinWorkspaceResponse, error) {
	return &apiv1.UnpinWorkspaceResponse{}, w.change(c, w.cfg.Workspaces.SetPinned, false)
}

func (w *workspaceCalls) remove(c *call) (*apiv1.DeleteWorkspaceResponse, error) {
	id, err := c.workspaceID()
	if err != nil {
		return nil, err
	}
	done, err := w.cfg.Workspaces.Delete(c.Context(), c.user, id)
	return &apiv1.DeleteWorkspaceResponse{Completed: done}, err
}
