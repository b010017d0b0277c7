package docker

import (
	"context"
	"fmt"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/registry"
	"github.com/moby/moby/client"

	"github.com/det-deploy/det-deploy/agent/container"
)

// Prepare returns an error for a container that cannot run, and pulls the image if it is missing or
// ForcePull is set.
func (r *Runtime) Prepare(ctx context.Context, spec container.Spec, note container.Note) error {
	return r.askWatched(ctx, func(ctx context.Context) error { return r.prepareImage(ctx, spec, note) })
}

func (r *Runtime) prepareImage(ctx context.Context, spec container.Spec, note container.Note) error {
	if err := spec.Validate(); err != nil {
		return err
	}
	if spec.Image == "" {
		return fmt.Errorf("the task has no image")
	}
	if err := r.checkSpec(spec); err != nil {
		return err
	}
	if err := r.ensureNetwork(ctx, spec.NetworkMode); err != nil {
		return err
	}
	if !spec.ForcePull {
		_, err := r.api.ImageInspect(ctx, spec.Image)
		if err == nil {
			return nil
		}
		if !cerrdefs.IsNotFound(err) {
			return fmt.Errorf("inspect image %s: %w", spec.Image, err)
		}
	}
	if err := r.pullImage(ctx, spec, note); err != nil {
		return fmt.Errorf("pull image %s: %w", spec.Image, &pullError{err})
	}
	return nil
}

func (r *Runtime) pullImage(ctx context.Context, spec container.Spec, note container.Note) error {
	note("pulling image " + spec.Image)
	options := client.ImagePullOptions{}
	a := spec.Auth
	if a == (container.Auth{}) {
		var err error
		if a, err = loginFor(ctx, loginFile(), spec.Image); err != nil {
			// The pull proceeds without a login, and the registry decides.
			note("cannot use the agent's registry credentials: " + err.Error())
		}
	}
	if a != (container.Auth{}) {
		auth, err := authconfig.Encode(registry.AuthConfig{
			Username: a.Username, Password: a.Password, Auth: a.Auth, ServerAddress: a.ServerAddress,
			IdentityToken: a.IdentityToken, RegistryToken: a.RegistryToken,
		})
		if err != nil {
			return err
		}
		options.RegistryAuth = auth
	}
	pull, err := r.api.ImagePull(ctx, spec.Image, options)
	if err != nil {
		return err
	}
	defer func() { _ = pull.Close() }()
	for m, err := range pull.JSONMessages(ctx) {
		if err != nil {
			return err
		}
		if m.Error != nil {
			return m.Error
		}
		if line := pullProgress(m.ID, m.Status); line != "" {
			note(line)
		}
	}
	return nil
}

// pullProgress formats a progress message for the log. It returns "" for the many steps of each
// layer.
func pullProgress(id, status string) string {
	switch status {
	case "", "Waiting", "Downloading", "Extracting", "Verifying Checksum", "Pulling fs layer", "Download complete":
		return ""
	}
	if id == "" {
		return status
	}
	return strings.Join([]string{id, status}, ": ")
}
