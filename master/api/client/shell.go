package client

import (
	"context"
	"net"
	"net/http"
	"net/url"

	"github.com/coder/websocket"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// LaunchShell submits a shell. A request with a request_id may be repeated and launches only one.
func (t tasks) LaunchShell(ctx context.Context, in *apiv1.LaunchCommandRequest) (*apiv1.LaunchShellResponse, error) {
	out := &apiv1.LaunchShellResponse{}
	return out, t.do(ctx, call{
		op: "launch shell", method: http.MethodPost, path: "/api/v1/shells", in: in, out: out, once: in.GetRequestId() == "",
	})
}

// LaunchTensorboard submits a TensorBoard. A lost response is an error, because it may have been created.
func (t tasks) LaunchTensorboard(ctx context.Context, in *apiv1.LaunchTensorboardRequest) (*apiv1.LaunchTensorboardResponse, error) {
	out := &apiv1.LaunchTensorboardResponse{}
	return out, t.do(ctx, call{op: "launch TensorBoard", method: http.MethodPost, path: "/api/v1/tensorboards", in: in, out: out, once: true})
}

// Shells lists the shells that have not been removed, the latest first.
func (t tasks) Shells(ctx context.Context) ([]*apiv1.Shell, error) {
	out := &apiv1.GetShellsResponse{}
	err := t.do(ctx, call{
		op: "list shells", method: http.MethodGet, path: "/api/v1/shells", query: url.Values{"orderBy": {"ORDER_BY_DESC"}, "limit": {"1000"}}, out: out,
	})
	return out.GetShells(), err
}

// Shell returns a shell, with its key if the user may log in to it.
func (t tasks) Shell(ctx context.Context, id string) (*apiv1.GetShellResponse, error) {
	out := &apiv1.GetShellResponse{}
	return out, t.do(ctx, call{op: "get shell " + id, method: http.MethodGet, path: "/api/v1/shells/" + url.PathEscape(id), out: out})
}

// DialShell connects to the SSH server of a shell. The connection ends with ctx.
func (e entries) DialShell(ctx context.Context, id string) (net.Conn, error) {
	ws, err := e.open(ctx, call{op: "log in to shell " + id, method: http.MethodGet, path: servicePath + url.PathEscape(id) + "/"})
	if err != nil {
		return nil, err
	}
	return websocket.NetConn(ctx, ws, websocket.MessageBinary), nil
}
