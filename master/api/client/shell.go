package client

import (
	"context"
	"net/http"
	"net/url"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// KillShell kills a shell. Killing an ended one is not an error.
func (t tasks) KillShell(ctx context.Context, id string) error {
	return t.do(ctx, call{
		op: "kill shell " + id, method: http.MethodPost, path: "/api/v1/shells/" + url.PathEscape(id) + "/kill", out: &apiv1.KillShellResponse{},
	})
}
