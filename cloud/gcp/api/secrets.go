package api

import (
	"context"
	"strings"

	"google.golang.org/api/secretmanager/v1"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// Secrets are the secrets of the project in Secret Manager, by their ID.
type Secrets struct {
	Get    func(ctx context.Context, id string) (*secretmanager.Secret, error)
	Create func(ctx context.Context, id string, in *secretmanager.Secret) error
	// Patch changes the fields that mask names: "labels".
	Patch  func(ctx context.Context, id string, in *secretmanager.Secret, mask string) error
	Delete func(ctx context.Context, id string) error
	List   func(ctx context.Context, filter string) ([]*secretmanager.Secret, error)
	// Add makes data the newest version.
	Add func(ctx context.Context, id string, data *secretmanager.SecretPayload) (*secretmanager.SecretVersion, error)
	// Read reads the newest version, or that of an ID such as "db/versions/3".
	Read func(ctx context.Context, id string) (*secretmanager.AccessSecretVersionResponse, error)
	// Versions lists those that are not destroyed, the newest first.
	Versions func(ctx context.Context, id string) ([]*secretmanager.SecretVersion, error)
	// Destroy destroys a version, by its whole name.
	Destroy   func(ctx context.Context, version string) error
	GetPolicy func(ctx context.Context, id string) (*secretmanager.Policy, error)
	// SetPolicy is refused with a conflict unless the policy has the etag of the present one.
	SetPolicy func(ctx context.Context, id string, in *secretmanager.Policy) error
}

func newSecrets(g *gateway, s *secretmanager.ProjectsSecretsService) Secrets {
	project := "projects/" + g.project
	path := func(id string) string { return project + "/secrets/" + id }
	return Secrets{
		Get: func(ctx context.Context, id string) (*secretmanager.Secret, error) {
			ctx, c := g.begin(ctx, "secretmanager.projects.secrets.get")
			return send(ctx, c, s.Get(path(id)).Context(ctx).Do)
		},
		Create: func(ctx context.Context, id string, in *secretmanager.Secret) error {
			ctx, c := g.begin(ctx, "secretmanager.projects.secrets.create")
			return done(send(ctx, c, s.Create(project, in).SecretId(id).Context(ctx).Do))
		},
		Patch: func(ctx context.Context, id string, in *secretmanager.Secret, mask string) error {
			ctx, c := g.begin(ctx, "secretmanager.projects.secrets.patch")
			return done(send(ctx, c, s.Patch(path(id), in).UpdateMask(mask).Context(ctx).Do))
		},
		Delete: func(ctx context.Context, id string) error {
			ctx, c := g.begin(ctx, "secretmanager.projects.secrets.delete")
			return done(send(ctx, c, s.Delete(path(id)).Context(ctx).Do))
		},
		List: func(ctx context.Context, filter string) ([]*secretmanager.Secret, error) {
			return readPages(func(token string) ([]*secretmanager.Secret, string, error) {
				ctx, c := g.begin(ctx, "secretmanager.projects.secrets.list")
				page, err := send(ctx, c, s.List(project).Filter(filter).PageToken(token).Context(ctx).Do)
				if err != nil {
					return nil, "", err
				}
				return page.Secrets, page.NextPageToken, nil
			})
		},
		Add: func(ctx context.Context, id string, data *secretmanager.SecretPayload) (*secretmanager.SecretVersion, error) {
			ctx, c := g.begin(ctx, "secretmanager.projects.secrets.addVersion")
			return send(ctx, c, s.AddVersion(path(id), &secretmanager.AddSecretVersionRequest{Payload: data}).Context(ctx).Do)
		},
		Read: func(ctx context.Context, id string) (*secretmanager.AccessSecretVersionResponse, error) {
			ctx, c := g.begin(ctx, "secretmanager.projects.secrets.versions.access")
			return send(ctx, c, s.Versions.Access(versionOf(path(id))).Context(ctx).Do)
		},
		Versions: func(ctx context.Context, id string) ([]*secretmanager.SecretVersion, error) {
			return readPages(func(token string) ([]*secretmanager.SecretVersion, string, error) {
				ctx, c := g.begin(ctx, "secretmanager.projects.secrets.versions.list")
				page, err := send(ctx, c, s.Versions.List(path(id)).Filter("state:ENABLED OR state:DISABLED").PageToken(token).Context(ctx).Do)
				if err != nil {
					return nil, "", err
				}
				return page.Versions, page.NextPageToken, nil
			})
		},
		Destroy: func(ctx context.Context, version string) error {
			ctx, c := g.begin(ctx, "secretmanager.projects.secrets.versions.destroy")
			return done(send(ctx, c, s.Versions.Destroy(version, &secretmanager.DestroySecretVersionRequest{}).Context(ctx).Do))
		},
		GetPolicy: func(ctx context.Context, id string) (*secretmanager.Policy, error) {
			ctx, c := g.begin(ctx, "secretmanager.projects.secrets.getIamPolicy")
			return send(ctx, c, s.GetIamPolicy(path(id)).OptionsRequestedPolicyVersion(policyVersion).Context(ctx).Do)
		},
		SetPolicy: func(ctx context.Context, id string, in *secretmanager.Policy) error {
			ctx, c := g.begin(ctx, "secretmanager.projects.secrets.setIamPolicy")
			return done(send(ctx, c, s.SetIamPolicy(path(id), &secretmanager.SetIamPolicyRequest{Policy: in}).Context(ctx).Do))
		},
	}
}

// versionOf is the version that a name has, or the newest.
func versionOf(name string) string {
	if strings.Contains(name, "/versions/") {
		return name
	}
	return name + "/versions/latest"
}

func secretCalls() edge.Calls {
	return edge.Calls{
		edge.Reads("secretmanager.projects.secrets.get", "secretmanager.secrets.get"),
		edge.Reads("secretmanager.projects.secrets.list", "secretmanager.secrets.list"),
		edge.Writes("secretmanager.projects.secrets.create", "secretmanager.secrets.create"),
		edge.Writes("secretmanager.projects.secrets.patch", "secretmanager.secrets.update"),
		edge.Writes("secretmanager.projects.secrets.delete", "secretmanager.secrets.delete"),
		edge.Writes("secretmanager.projects.secrets.addVersion", "secretmanager.versions.add"),
		edge.Reads("secretmanager.projects.secrets.versions.access", "secretmanager.versions.access"),
		edge.Reads("secretmanager.projects.secrets.versions.list", "secretmanager.versions.list"),
		edge.Writes("secretmanager.projects.secrets.versions.destroy", "secretmanager.versions.destroy"),
		edge.Reads("secretmanager.projects.secrets.getIamPolicy", "secretmanager.secrets.getIamPolicy"),
		edge.Writes("secretmanager.projects.secrets.setIamPolicy", "secretmanager.secrets.setIamPolicy"),
	}
}
