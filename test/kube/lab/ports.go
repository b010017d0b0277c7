package lab

import (
	"context"
	"errors"
	"net"
)

// ports are the listening ports of the components.
type ports struct{ API, Etcd, Peer, Controllers, Scheduler, Kwok int }

// nodePorts returns Kubernetes' default ports: a real node has its own network namespace.
func nodePorts() ports { return ports{6443, 2379, 2380, 10257, 10259, 10247} }

// freePorts returns unused ports of this machine.
func freePorts(ctx context.Context) (p ports, err error) {
	var open []net.Listener
	defer func() {
		for _, l := range open {
			err = errors.Join(err, l.Close())
		}
	}()
	for _, port := range []*int{&p.API, &p.Etcd, &p.Peer, &p.Controllers, &p.Scheduler, &p.Kwok} {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return p, err
		}
		open = append(open, l)
		*port = l.Addr().(*net.TCPAddr).Port
	}
	return p, nil
}
