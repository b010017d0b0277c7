package client

import (
	"context"
	"net/http"
	"net/url"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// LaunchNotebook submits a notebook. A lost response is an error, because the notebook may have been created.
func (t tasks) LaunchNotebook(ctx context.Context, in *apiv1.LaunchNotebookRequest) (*apiv1.LaunchNotebookResponse, error) {
	out := &apiv1.LaunchNotebookResponse{}
	return out, t.do(ctx, call{op: "launch notebook", method: http.MethodPost, path: "/api/v1/notebooks", in: in, out: out, once: true})
}

// KillNotebook kills a notebook. Killing an ended one is not an error.
func (t tasks) KillNotebook(ctx context.Context, id string) error {
	return t.do(ctx, call{
		op: "kill notebook " + id, method: http.MethodPost, path: "/api/v1/notebooks/" + url.PathEscape(id) + "/kill", out: &apiv1.KillNotebookResponse{},
	})
}
