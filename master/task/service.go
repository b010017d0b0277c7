package task

import (
	"context"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// Service is a port of a running task that the master proxies.
type Service struct {
	Task rm.TaskID
	// Owner is the user who started the task.
	Owner     int32
	Container rm.ContainerID
	Port      int
	// Public reports that it is for all users: it shows what they may read anyway.
	Public bool
	// Shell reports that the service is the login to a shell, at no port of the container.
	Shell bool
	// Key is what requests need in the header jupyter.Header; empty for most services.
	Key string
	// TCP reports that the service does not speak HTTP.
	TCP bool
	// Unauthenticated reports that anyone may visit it.
	Unauthenticated bool
}

// ProxiedOwner is implemented by owners whose tasks have services.
type ProxiedOwner interface {
	Owner
	// ProxyPorts returns the proxied ports of a task.
	ProxyPorts(ctx context.Context, id rm.TaskID) ([]spec.ProxyPort, error)
}

// Service returns a service in the first container of a running task; port 0 selects the default one. Its
// error has the code NotFound.
func (v *views) Service(ctx context.Context, id string, port int) (Service, error) {
	e, found := v.reg.findTask(rm.TaskID(id))
	if !found {
		return Service{}, status.New(status.NotFound, "service not found: %s", id)
	}
	s := e.latestSnapshot()
	c, err := runningContainer(s, 0)
	if err != nil {
		return Service{}, status.New(status.NotFound, "service not found: %v", err)
	}
	if s.task.Kind == lifecycle.Shell && port == 0 {
		// The key of the shell is what its visitors need.
		return Service{Task: s.task.ID, Owner: s.task.UserID, Container: c, Shell: true, TCP: true, Unauthenticated: true}, nil
	}
	ports, err := v.servicesOf(ctx, s)
	if err != nil {
		return Service{}, err
	}
	p, found := choosePort(ports, port)
	if !found {
		return Service{}, status.New(status.NotFound, "service not found: %s: the task has no such port in environment.proxy_ports", id)
	}
	out := Service{
		Task: s.task.ID, Owner: s.task.UserID, Container: c, Port: p.Port, TCP: p.TCP, Unauthenticated: p.Unauthenticated,
		Public: s.task.Board != nil && port == 0,
	}
	if port == 0 {
		out.Key = s.task.Key
	}
	return out, nil
}

func (v *views) servicesOf(ctx context.Context, s snapshot) ([]spec.ProxyPort, error) {
	t, k := s.task, kindOf(s.task.Kind)
	if owner, found := v.reg.ownerOf(t.Kind); found {
		if proxied, is := owner.(ProxiedOwner); is {
			return proxied.ProxyPorts(ctx, t.ID)
		}
		return nil, nil
	}
	cfg, err := spec.Load(t.Config)
	if err != nil {
		return nil, err
	}
	ports := k.proxyPorts(cfg)
	if k.serves {
		own := spec.NumberPorts(k.ports, s.currentAllocation().Ports)[0]
		ports = append([]spec.ProxyPort{{Port: own.Number, DefaultServiceID: true}}, ports...)
	}
	return ports, nil
}

// choosePort returns a proxied port by its number. The default one, for the number 0, is the port that is
// marked as such, or else the first.
func choosePort(ports []spec.ProxyPort, number int) (spec.ProxyPort, bool) {
	for _, p := range ports {
		if p.Port == number || number == 0 && p.DefaultServiceID {
			return p, true
		}
	}
	if number == 0 && len(ports) > 0 {
		return ports[0], true
	}
	return spec.ProxyPort{}, false
}
