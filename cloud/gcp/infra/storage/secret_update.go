package storage

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"google.golang.org/api/secretmanager/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// The drift paths of a secret. Drift never contains values.
const (
	valuePath    = "value"
	versionsPath = "versions"
	opensPath    = "opens"
)

func (s *Secret) compareLive(ctx context.Context, live *secretmanager.Secret) ([]resource.Drift, error) {
	all, err := s.liveVersions(ctx)
	if err != nil {
		return nil, err
	}
	out := infra.Differences(infra.Changeable(opensPath, live.Annotations[mark.OpensNote], s.opens()))
	switch {
	case len(all) == 0:
		return append(out, infra.Changeable(valuePath, "none", "one")), nil
	case !s.Given.IsZero() && !infra.DigestMatches(live.Annotations[mark.DigestNote], s.FullName(), s.Given.Reveal()):
		return append(out, infra.Changeable(valuePath, "different", "the given value")), nil
	}
	return append(out, infra.Differences(infra.Changeable(versionsPath, strconv.Itoa(len(all)), "1"))...), nil
}

// liveVersions returns the versions that are not destroyed, newest first.
func (s *Secret) liveVersions(ctx context.Context) ([]*secretmanager.SecretVersion, error) {
	all, err := api.List(ctx, s.In.Clients.Secrets.Projects.Secrets.Versions.List(s.In.Clients.SecretName(s.FullName())).Filter("state:ENABLED OR state:DISABLED"), func(p *secretmanager.ListSecretVersionsResponse) []*secretmanager.SecretVersion { return p.Versions })
	return slices.DeleteFunc(all, func(v *secretmanager.SecretVersion) bool { return v.State == "DESTROYED" }), err
}

// changeSecret stores a value and destroys earlier versions. The digest is written last: without
// it, the value is stored again.
func (s *Secret) changeSecret(ctx context.Context, drift []resource.Drift) error {
	has := func(path string) bool {
		return slices.ContainsFunc(drift, func(d resource.Drift) bool { return d.Path == path })
	}
	notes := map[string]string{mark.OpensNote: s.opens()}
	if has(valuePath) {
		value, more, err := s.newValue()
		if err != nil {
			return err
		}
		maps.Copy(notes, more)
		if err := s.addVersion(ctx, value); err != nil {
			return err
		}
	}
	if has(valuePath) || has(versionsPath) {
		if err := s.destroyOldVersions(ctx); err != nil {
			return err
		}
	}
	if has(valuePath) || has(opensPath) {
		return s.annotate(ctx, notes)
	}
	return nil
}

func (s *Secret) destroyOldVersions(ctx context.Context) error {
	all, err := s.liveVersions(ctx)
	if err != nil {
		return err
	}
	for _, v := range all[min(1, len(all)):] {
		err := api.Send(ctx, s.In.Clients.Secrets.Projects.Secrets.Versions.Destroy(v.Name, &secretmanager.DestroySecretVersionRequest{}))
		// A version that was destroyed in the meantime returns a Conflict.
		if err != nil && cloud.KindOf(err) != cloud.NotFound && cloud.KindOf(err) != cloud.Conflict {
			return err
		}
	}
	return nil
}

// annotate sets annotations and keeps others. It removes those with an empty value.
func (s *Secret) annotate(ctx context.Context, notes map[string]string) error {
	return s.patchSecret(ctx, "annotations", func(live *secretmanager.Secret) {
		live.Annotations = joinNotes(live.Annotations, notes)
	})
}

func (s *Secret) relabel(ctx context.Context, _ string, marks map[string]string) error {
	return s.patchSecret(ctx, "labels", func(live *secretmanager.Secret) { live.Labels = joinNotes(live.Labels, marks) })
}

func joinNotes(have, more map[string]string) map[string]string {
	out := maps.Clone(have)
	if out == nil {
		out = make(map[string]string)
	}
	maps.Copy(out, more)
	maps.DeleteFunc(out, func(_, v string) bool { return v == "" })
	return out
}

// patchSecret changes the fields in mask under the etag that was read. It repeats this if another
// process has changed the secret in between.
func (s *Secret) patchSecret(ctx context.Context, mask string, change func(*secretmanager.Secret)) error {
	return s.In.Waiter().RetryOn(ctx, s.ID(), infra.ToBeDescribed, cloud.Conflict, func() error {
		live, err := api.Do(ctx, s.In.Clients.Secrets.Projects.Secrets.Get(s.In.Clients.SecretName(s.FullName())))
		if err != nil {
			return err
		}
		change(live)
		return api.Send(ctx, s.In.Clients.Secrets.Projects.Secrets.Patch(s.In.Clients.SecretName(s.FullName()), &secretmanager.Secret{
			Labels: live.Labels, Annotations: live.Annotations, Etag: live.Etag,
		}).UpdateMask(mask))
	})
}
