package master

import (
	"context"
	"net"
	"net/http"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/audit"
	"github.com/det-deploy/det-deploy/master/notebook"
	"github.com/det-deploy/det-deploy/master/proxy"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/server/guard"
	"github.com/det-deploy/det-deploy/master/shell"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/master/tensorboard"
)

// newProxy returns the proxy of the services of tasks.
func (m *Master) newProxy() *proxy.Proxy {
	cfg := m.parts.Config
	return proxy.New(proxy.Config{
		Login:    m.logIn,
		Services: m.tasks, Visitors: m.auth, Streams: func() rm.Streams { return m.rm },
		Entered: m.recordVisit, Visited: m.visited, Origin: cfg.Proxy.OriginURL(), Secure: m.certificate != nil, Log: m.log,
	})
}

// newBoards returns the watch of TensorBoards.
func (m *Master) newBoards() *tensorboard.Watch {
	return tensorboard.NewWatch(tensorboard.WatchConfig{Tasks: m.tasks, Visits: m.visits, Log: m.log})
}

// newNotebooks returns the watch of notebooks.
func (m *Master) newNotebooks() *notebook.Watch {
	return notebook.New(notebook.Config{Tasks: m.tasks, Streams: func() rm.Streams { return m.rm }, Visits: m.visits, Log: m.log})
}

// visits returns the number of open requests to a container. The proxy is made after those who ask.
func (m *Master) visits(c rm.ContainerID) int { return m.proxy.Visits(c) }

// visited records the end of a visit to a task that is ended when nobody uses it.
func (m *Master) visited(c rm.ContainerID) {
	m.boards.Visited(c)
	m.notebooks.Visited(c)
}

// recordVisit records that a user opened the pages of a service, but not each request.
func (m *Master) recordVisit(ctx context.Context, r *http.Request, by *apiv1.User, service string) {
	m.audit.Record(ctx, &apiv1.AuditEntry{
		User: by.GetUsername(), UserId: by.GetId(), Admin: by.GetAdmin(), Address: hostOf(r.RemoteAddr),
		Action: "service.visit", Target: service, Outcome: audit.Done,
	})
}

// openShells creates the SSH server of shells.
func (m *Master) openShells(ctx context.Context) error {
	key, err := shell.HostKey(ctx, m.store)
	if err != nil {
		return err
	}
	m.shells = shell.New(shell.Config{
		HostKey: key, KeyOf: m.tasks.ShellKey, Streams: func() rm.Streams { return m.rm }, Entered: m.recordLogin, Log: m.log,
	})
	return nil
}

// logIn connects a visitor to the SSH server. The connection is within this process.
func (m *Master) logIn(ctx context.Context, s task.Service, address string) net.Conn {
	visitor, server := net.Pipe()
	go m.shells.Serve(ctx, server, s.Task, address)
	return visitor
}

// recordLogin records a login with the key of a shell, which does not tell who has the key.
func (m *Master) recordLogin(ctx context.Context, id rm.TaskID, address string) {
	guard.MarkKnown(ctx)
	m.audit.Record(ctx, &apiv1.AuditEntry{Address: hostOf(address), Action: "shell.login", Target: string(id), Details: "with the key of the shell", Outcome: audit.Done})
}

// hostOf returns the host of an address with a port.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
