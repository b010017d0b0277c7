package dockertest

import (
	"context"

	"github.com/moby/moby/client"
)

// OnNetwork returns the number of containers on a network, or an error if it does not exist.
func (d *Daemon) OnNetwork(ctx context.Context, name string) (int, error) {
	n, err := d.API.NetworkInspect(ctx, name, client.NetworkInspectOptions{})
	return len(n.Network.Containers), err
}

// Containers returns the number of all containers, including stopped ones.
func (d *Daemon) Containers(ctx context.Context) (int, error) {
	all, err := d.API.ContainerList(ctx, client.ContainerListOptions{All: true})
	return len(all.Items), err
}
