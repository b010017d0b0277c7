package client

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/url"

	"google.golang.org/protobuf/encoding/protojson"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// contexts are the calls about directories that are sent before a task or an experiment.
type contexts struct{ *transport }

// ContextLimits returns what the master accepts. Masters of earlier versions return Unbuilt or NotFound.
func (c contexts) ContextLimits(ctx context.Context) (*apiv1.GetContextLimitsResponse, error) {
	out := &apiv1.GetContextLimitsResponse{}
	return out, c.do(ctx, call{op: "get the limits of contexts", method: http.MethodGet, path: "/api/v1/context-limits", out: out})
}

// AnnounceContext sends the list of a context's files, and returns the pieces to send.
func (c contexts) AnnounceContext(ctx context.Context, files []*apiv1.ContextFile) (*apiv1.PostContextResponse, error) {
	const op = "send the list of files"
	raw, err := protojson.Marshal(&apiv1.PostContextRequest{Files: files})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err = zip.Write(raw); err == nil {
		err = zip.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	out := &apiv1.PostContextResponse{}
	return out, c.do(ctx, call{op: op, method: http.MethodPost, path: "/api/v1/contexts", body: packed.Bytes(), encoding: "gzip", out: out})
}

// SendPieces sends pieces of a context, in a gzipped tar.
func (c contexts) SendPieces(ctx context.Context, id string, packed []byte) error {
	return c.do(ctx, call{
		op: "send files", method: http.MethodPost, path: "/api/v1/contexts/" + url.PathEscape(id) + "/pieces",
		body: packed, out: &apiv1.PostContextPiecesResponse{},
	})
}
