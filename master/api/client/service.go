package client

import (
	"context"
	"net/http"
	"net/url"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// OpenService returns the complete address of a service of a task for a browser, with a ticket. Service is
// "<task>" or "<task>:<port>".
func (t tasks) OpenService(ctx context.Context, service string) (string, error) {
	out := &apiv1.OpenServiceResponse{}
	err := t.do(ctx, call{op: "open service " + service, method: http.MethodPost, path: "/api/v1/services/" + url.PathEscape(service) + "/open", out: out})
	if err != nil {
		return "", err
	}
	address, err := url.Parse(out.GetAddress())
	if err != nil {
		return "", err
	}
	return t.base.ResolveReference(address).String(), nil
}
