package client

import (
	"context"
	"net/http"
	"net/url"

	"google.golang.org/protobuf/types/known/structpb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// templates are the calls about templates.
type templates struct{ *transport }

// Templates lists templates by name.
func (t templates) Templates(ctx context.Context) (all []*apiv1.Template, err error) {
	query := url.Values{}
	err = readPages(0, query, func() (int, *apiv1.Pagination, error) {
		out := &apiv1.GetTemplatesResponse{}
		err := t.do(ctx, call{op: "list templates", method: http.MethodGet, path: "/api/v1/templates", query: query, out: out})
		all = append(all, out.GetTemplates()...)
		return len(all), out.GetPagination(), err
	})
	return all, err
}

// Template returns one template with its configuration.
func (t templates) Template(ctx context.Context, name string) (*apiv1.Template, error) {
	out := &apiv1.GetTemplateResponse{}
	err := t.do(ctx, call{op: "get template " + name, method: http.MethodGet, path: templatePath(name), out: out})
	return out.GetTemplate(), err
}

// CreateTemplate creates a template. A lost response is an error, because it may have been created.
func (t templates) CreateTemplate(ctx context.Context, in *apiv1.Template) (*apiv1.Template, error) {
	out := &apiv1.PostTemplateResponse{}
	err := t.do(ctx, call{op: "create template " + in.GetName(), method: http.MethodPost, path: templatePath(in.GetName()), in: in, out: out, once: true})
	return out.GetTemplate(), err
}

// SetTemplate replaces the configuration of a template.
func (t templates) SetTemplate(ctx context.Context, name string, config *structpb.Struct) (*apiv1.Template, error) {
	out := &apiv1.PatchTemplateConfigResponse{}
	err := t.do(ctx, call{op: "change template " + name, method: http.MethodPatch, path: templatePath(name), in: config, out: out})
	return out.GetTemplate(), err
}

// DeleteTemplate deletes a template.
func (t templates) DeleteTemplate(ctx context.Context, name string) error {
	return t.do(ctx, call{op: "delete template " + name, method: http.MethodDelete, path: templatePath(name)})
}

func templatePath(name string) string { return "/api/v1/templates/" + url.PathEscape(name) }
