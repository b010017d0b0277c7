package client

import (
	"context"
	"net"
	"net/http"
	"net/url"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

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
	return t.do(ctx, killCall("shells", id, &apiv1.KillShellResponse{}))
}

// LaunchTensorboard submits a TensorBoard. A lost response is an error, because it may have been created.
func (t tasks) LaunchTensorboard(ctx context.Context, in *apiv1.LaunchTensorboardRequest) (*apiv1.LaunchTensorboardResponse, error) {
	out := &apiv1.LaunchTensorboardResponse{}
	return out, t.do(ctx, call{op: "launch TensorBoard", method: http.MethodPost, path: "/api/v1/tensorboards", in: in, out: out, once: true})
}

// KillTensorboard kills a TensorBoard. Killing an ended one is not an error.
func (t tasks) KillTensorboard(ctx context.Context, id string) error {
	return t.do(ctx, killCall("tensorboards", id, &apiv1.KillTensorboardResponse{}))
}

func killCall(kind, id string, out proto.Message) call {
	return call{op: "kill task " + id, method: http.MethodPost, path: "/api/v1/" + kind + "/" + url.PathEscape(id) + "/kill", out: out}
}

// KillService kills a task that serves people: a shell, a notebook or a TensorBoard.
func (t tasks) KillService(ctx context.Context, id string) (err error) {
	for _, kill := range []func(context.Context, string) error{t.KillShell, t.KillNotebook, t.KillTensorboard} {
		err = kill(ctx, id)
		if kind := KindOf(err); kind != NotFound && kind != Unbuilt { // Unbuilt by a master of an earlier version
			return err
		}
	}
	return err
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
