package client

import (
	"context"
	"net/http"
	"net/url"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// LaunchShell submits a shell. A request with a request_id may be repeated and launches only one.
func (t tasks) LaunchShell(ctx context.Context, in *apiv1.LaunchCommandRequest) (*apiv1.LaunchShellResponse, error) {
	out := &apiv1.LaunchShellResponse{}
	return out, t.do(ctx, call{
		op: "launch shell", method: http.MethodPost, path: "/api/v1/shells", in: in, out: out, once: in.GetRequestId() == "",
	})
}

// KillShell kills a shell. Killing an ended one is not an error.
func (t tasks) KillShell(ctx context.Context, id string) error {
	return t.do(ctx, call{
		op: "kill shell " + id, method: http.MethodPost, path: "/api/v1/shells/" + url.PathEscape(id) + "/kill", out: &apiv1.KillShellResponse{},
	})
}
