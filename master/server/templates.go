package server

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/server/query"
)

// Templates stores named parts of configurations. The caller owns the returned messages.
type Templates interface {
	// All returns the templates visible to by, sorted by name.
	All(by *apiv1.User) []*apiv1.Template
	Get(by *apiv1.User, name string) (*apiv1.Template, error)
	Create(ctx context.Context, by *apiv1.User, t *apiv1.Template) (*apiv1.Template, error)
	// Put creates a template or replaces its configuration.
	Put(ctx context.Context, by *apiv1.User, t *apiv1.Template) (*apiv1.Template, error)
	SetConfig(ctx context.Context, by *apiv1.User, name string, config *structpb.Struct) (*apiv1.Template, error)
	Rename(ctx context.Context, by *apiv1.User, name, to string) (*apiv1.Template, error)
	Delete(ctx context.Context, by *apiv1.User, name string) error
}

// templateCalls serves the calls about templates.
type templateCalls struct{ *shared }

func (t *templateCalls) routes() []route {
	if t.cfg.Templates == nil {
		return nil
	}
	const one = "templates/{template}"
	return []route{
		getRoute("templates", user, plainCall(t.templates)),
		getRoute(one, user, plainCall(t.template)),
		auditedRoute("template.create", postRoute(one, login, unaryCall(t.create))),
		auditedRoute("template.change", route{method: http.MethodPut, path: one, access: login, endpoint: unaryCall(t.put)}),
		auditedRoute("template.change", route{method: http.MethodPatch, path: one, access: login, endpoint: unaryCall(t.setConfig)}),
		auditedRoute("template.rename", route{method: http.MethodPatch, path: "template/rename", access: login, endpoint: unaryCall(t.rename)}),
		auditedRoute("template.delete", route{method: http.MethodDelete, path: one, access: login, endpoint: plainCall(t.remove)}),
	}
}

func byTemplateName(a, b *apiv1.Template) int {
	return strings.Compare(strings.ToLower(a.GetName()), strings.ToLower(b.GetName()))
}

var templateOrder = map[string]func(a, b *apiv1.Template) int{"": byTemplateName, "SORT_BY_NAME": byTemplateName}

func (t *templateCalls) templates(c *call) (*apiv1.GetTemplatesResponse, error) {
	params := c.query()
	name, ids := strings.ToLower(params.Text("name")), params.Numbers("workspaceIds")
	list := slices.DeleteFunc(t.cfg.Templates.All(c.user), func(m *apiv1.Template) bool {
		return !strings.Contains(strings.ToLower(m.GetName()), name) || len(ids) > 0 && !slices.Contains(ids, m.GetWorkspaceId())
	})
	query.Sort(params, list, templateOrder)
	part, p := query.Cut(params, list)
	return &apiv1.GetTemplatesResponse{Templates: part, Pagination: p}, params.Err()
}

func (t *templateCalls) template(c *call) (*apiv1.GetTemplateResponse, error) {
	out, err := t.cfg.Templates.Get(c.user, c.PathValue("template"))
	return &apiv1.GetTemplateResponse{Template: out}, err
}

func (t *templateCalls) create(c *call, in *apiv1.Template) (*apiv1.PostTemplateResponse, error) {
	in.Name = c.PathValue("template")
	out, err := t.cfg.Templates.Create(c.Context(), c.user, in)
	return &apiv1.PostTemplateResponse{Template: out}, err
}

func (t *templateCalls) put(c *call, in *apiv1.Template) (*apiv1.PutTemplateResponse, error) {
	in.Name = c.PathValue("template")
	out, err := t.cfg.Templates.Put(c.Context(), c.user, in)
	return &apiv1.PutTemplateResponse{Template: out}, err
}

// setConfig replaces the configuration, which is the body itself.
func (t *templateCalls) setConfig(c *call, in *structpb.Struct) (*apiv1.PatchTemplateConfigResponse, error) {
	out, err := t.cfg.Templates.SetConfig(c.Context(), c.user, c.PathValue("template"), in)
	return &apiv1.PatchTemplateConfigResponse{Template: out}, err
}

func (t *templateCalls) rename(c *call, in *apiv1.PatchTemplateNameRequest) (*apiv1.PatchTemplateNameResponse, error) {
	c.noteTarget(in.GetOldName(), in.GetNewName())
	out, err := t.cfg.Templates.Rename(c.Context(), c.user, in.GetOldName(), in.GetNewName())
	return &apiv1.PatchTemplateNameResponse{Template: out}, err
}

func (t *templateCalls) remove(c *call) (*apiv1.DeleteTemplateResponse, error) {
	return &apiv1.DeleteTemplateResponse{}, t.cfg.Templates.Delete(c.Context(), c.user, c.PathValue("template"))
}
