package client

import (
	"context"
	"net/http"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// LaunchNotebook submits a notebook. A lost response is an error, because the notebook may have been created.
func (t tasks) LaunchNotebook(ctx context.Context, in *apiv1.LaunchNotebookRequest) (*apiv1.LaunchNotebookResponse, error) {
	out := &apiv1.LaunchNotebookResponse{}
	return out, t.do(ctx, call{op: "launch notebook", method: http.MethodPost, path: "/api/v1/notebooks", in: in, out: out, once: true})
}
