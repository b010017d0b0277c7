package docker

import (
	"context"
	"fmt"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// ensureNetwork creates the network of the agent's tasks if it does not exist. It ignores a
// conflict, because another agent may create it at the same moment.
func (r *Runtime) ensureNetwork(ctx context.Context, name string) error {
	if name == "" || name != r.opts.Network {
		return nil
	}
	_, err := r.api.NetworkInspect(ctx, name, client.NetworkInspectOptions{})
	if err == nil {
		return nil
	}
	if !cerrdefs.IsNotFound(err) {
		return fmt.Errorf("inspect Docker network %s: %w", name, err)
	}
	_, err = r.api.NetworkCreate(ctx, name, client.NetworkCreateOptions{Driver: "bridge"})
	if err != nil && !cerrdefs.IsConflict(err) && !cerrdefs.IsAlreadyExists(err) {
		return fmt.Errorf("create Docker network %s: %w", name, err)
	}
	return nil
}
