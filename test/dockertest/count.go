package dockertest

import (
	"context"

	"github.com/moby/moby/client"
)

// OnNetwork counts the containers on a network; an error is that there is none.
func (d *Daemon) OnNetwork(ctx context.Context, name string) (int, error) {
	n, err := d.API.NetworkInspect(ctx, name, client.NetworkInspectOptions{})
	return len(n.Network.Containers), err
}

// Containers counts all containers, ended ones among them.
func (d *Daemon) Containers(ctx context.Context) (int, error) {
	all, err := d.API.ContainerList(ctx, client.ContainerListOptions{All: true})
	return len(all.Items), err
}
