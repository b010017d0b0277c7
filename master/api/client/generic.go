package client

import (
	"context"
	"net/http"
	"net/url"

	"google.golang.org/protobuf/proto"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Pause pauses a generic task and its descendants until Resume. It may be repeated.
func (t tasks) Pause(ctx context.Context, id string) error {
	return t.changeGeneric(ctx, id, "pause", &apiv1.PauseGenericTaskResponse{})
}

// Resume queues a paused generic task and its descendants again. It may be repeated.
func (t tasks) Resume(ctx context.Context, id string) error {
	return t.changeGeneric(ctx, id, "unpause", &apiv1.UnpauseGenericTaskResponse{})
}

func (t tasks) changeGeneric(ctx context.Context, id, verb string, out proto.Message) error {
	return t.do(ctx, call{
		op: verb + " task " + id, method: http.MethodPost, path: "/api/v1/tasks/" + url.PathEscape(id) + "/" + verb, out: out,
	})
}
