package storage

import (
	"context"
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"maps"
	"path"
	"strings"

	"google.golang.org/api/secretmanager/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/cloud/secret"
)

// Secret is kept in Secret Manager, and nowhere else. It has one version.
type Secret struct {
	In *mark.Cluster
	// Name identifies it: "admin-password". It is stored as det-deploy-CLUSTER-NAME.
	Name string
	// Given is the user's value. A stored one that differs is replaced.
	Given secret.Value
	// Generate makes the value where none is given. It is asked once: a stored value
	// stays.
	Generate func() (secret.Value, error)
	// OpensData keeps it as long as the data that it opens.
	OpensData bool

	infra.Learned
}

var _ resource.Updater = (*Secret)(nil)

// SecretID is how a secret of a cluster is stored.
func SecretID(cluster, name string) string { return "det-deploy-" + cluster + "-" + name }

// FullName is how it is stored.
func (s *Secret) FullName() string { return SecretID(s.In.ID, s.Name) }

// ID is "gcp/secret/" and its name.
func (s *Secret) ID() string { return mark.ResourceID(mark.KindSecret, s.Name) }

// Kind is KindSecret.
func (*Secret) Kind() string { return mark.KindSecret }

// Needs nothing.
func (*Secret) Needs() []string { return nil }

// Find looks at it, and not at its value.
func (s *Secret) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	return infra.Named(s).Find(ctx)
}

// Create stores it.
func (s *Secret) Create(ctx context.Context) error { return infra.Named(s).Create(ctx) }

// Update changes labels, and stores the given value.
func (s *Secret) Update(ctx context.Context, drift []resource.Drift) error {
	return infra.Named(s).Update(ctx, drift)
}

// Delete removes it for good.
func (s *Secret) Delete(ctx context.Context) error { return infra.Named(s).Delete(ctx) }

// Define says what is wanted.
func (s *Secret) Define() infra.Definition[*secretmanager.Secret] {
	d := mark.DefineAs(s.In, Secrets(s.In), mark.Named{Name: s.Name, Identity: s.FullName()}, &s.Learned)
	d.Tags = s.wantedLabels()
	d.Create = func(ctx context.Context, _ string) error { return s.createSecret(ctx) }
	d.Retag = s.relabel
	d.Compare = s.compareLive
	d.Change = s.changeSecret
	return d
}

func (s *Secret) wantedLabels() map[string]string {
	out := s.In.AllLabels()
	out[mark.RetainLabel] = mark.RetainNo
	if s.OpensData {
		out[mark.RetainLabel] = mark.RetainYes
	}
	return out
}

// opens is what of the user's own it opens.
func (s *Secret) opens() string {
	if s.OpensData {
		return s.In.Outside
	}
	return ""
}

// createSecret makes it and stores its value. One that an interrupted run has made may
// lack that.
func (s *Secret) createSecret(ctx context.Context) error {
	value, notes, err := s.newValue()
	if err != nil {
		return err
	}
	made := false
	err = mark.Insert(ctx, s.In, s.Define(), s.FullName(), func() error {
		err := api.Send(ctx, s.In.Clients.Secrets.Projects.Secrets.Create(s.In.Clients.ProjectName(), &secretmanager.Secret{
			Labels: s.wantedLabels(), Annotations: notes,
			// Automatic replication is "global" to an organization's policy of locations.
			Replication: &secretmanager.Replication{UserManaged: &secretmanager.UserManaged{
				Replicas: []*secretmanager.Replica{{Location: s.In.Clients.Region}},
			}},
		}).SecretId(s.FullName()))
		made = err == nil
		return err
	})
	switch {
	case err != nil:
		return err
	case made:
		return s.addVersion(ctx, value)
	}
	return s.In.Waiter().Adopt(ctx, s)
}

func (s *Secret) newValue() (secret.Value, map[string]string, error) {
	notes := make(map[string]string)
	if opens := s.opens(); opens != "" {
		notes[mark.OpensNote] = opens
	}
	if s.Given.IsZero() {
		v, err := s.Generate()
		return v, notes, err
	}
	notes[mark.DigestNote] = infra.Digest(s.FullName(), s.Given.Reveal())
	return s.Given, notes, nil
}

func (s *Secret) addVersion(ctx context.Context, v secret.Value) error {
	data := []byte(v.Reveal())
	_, err := api.Do(ctx, s.In.Clients.Secrets.Projects.Secrets.AddVersion(s.In.Clients.SecretName(s.FullName()), &secretmanager.AddSecretVersionRequest{Payload: &secretmanager.SecretPayload{
		Data: base64.StdEncoding.EncodeToString(data), DataCrc32c: checksum(data),
	}}))
	return err
}

// checksum lets Google see that the value came whole.
func checksum(data []byte) int64 {
	return int64(crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
}

// Read returns the stored value. It is for callers that need it while applying; plans
// have no use for it.
func (s *Secret) Read(ctx context.Context) (secret.Value, error) {
	text, err := readSecret(ctx, s.In.Clients, s.FullName())
	return secret.Literal(text), err
}

// readSecret reads a version of a secret, and sees that it came whole.
func readSecret(ctx context.Context, c api.Clients, id string) (string, error) {
	version := c.SecretName(id)
	if !strings.Contains(version, "/versions/") {
		version += "/versions/latest"
	}
	out, err := api.Do(ctx, c.Secrets.Projects.Secrets.Versions.Access(version))
	if err != nil {
		return "", err
	}
	var data []byte
	if out.Payload != nil {
		data, err = base64.StdEncoding.DecodeString(out.Payload.Data)
	}
	if err != nil || out.Payload == nil || out.Payload.DataCrc32c != checksum(data) {
		return "", &cloud.Error{
			Kind: cloud.Unavailable, Op: "secretmanager.projects.secrets.versions.access", Resource: id,
			Err: fmt.Errorf("the answer does not have the value that was stored"),
		}
	}
	return string(data), nil
}

// Give has another value stored by the next Create or Update.
func (s *Secret) Give(v secret.Value) { s.Given = v }

// Version identifies the stored value. It is empty when there is none.
func (s *Secret) Version(ctx context.Context) (string, error) {
	all, err := s.liveVersions(ctx)
	if err != nil || len(all) == 0 {
		return "", infra.IgnoreMissing(err)
	}
	return path.Base(all[0].Name), nil
}

// Secrets are those of a cluster.
func Secrets(c *mark.Cluster) mark.Kind[secretmanager.Secret] {
	return mark.KindOf(c, mark.KindSecret, c.LabelFilter(), mark.Calls[secretmanager.Secret]{
		Get: func(ctx context.Context, id string) (*secretmanager.Secret, error) {
			return api.Do(ctx, c.Clients.Secrets.Projects.Secrets.Get(c.Clients.SecretName(id)))
		},
		Delete: func(ctx context.Context, id string) error {
			return api.Send(ctx, c.Clients.Secrets.Projects.Secrets.Delete(c.Clients.SecretName(id)))
		},
		List: func(ctx context.Context, filter string) ([]*secretmanager.Secret, error) {
			return api.List(ctx, c.Clients.Secrets.Projects.Secrets.List(c.Clients.ProjectName()).Filter(filter), func(p *secretmanager.ListSecretsResponse) []*secretmanager.Secret { return p.Secrets })
		},
	}, func(s *secretmanager.Secret) infra.Observed {
		marks := maps.Clone(s.Annotations)
		if marks == nil {
			marks = make(map[string]string)
		}
		maps.Copy(marks, s.Labels)
		return infra.Observed{Identity: path.Base(s.Name), Marks: marks}
	})
}
