package storage

import (
	"context"
	"encoding/base64"
	"errors"
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

// Secret is a secret in Secret Manager with one version. It is stored nowhere else.
type Secret struct {
	In *mark.Cluster
	// Name identifies the secret within the cluster: "admin-password". It is stored as
	// det-deploy-CLUSTER-NAME.
	Name string
	// Given is the user's value. A different stored value is replaced.
	Given secret.Value
	// Generate returns the value if none is given. It is called only once, because a stored value
	// is kept.
	Generate func() (secret.Value, error)
	// OpensData retains the secret as long as the data that requires it.
	OpensData bool

	infra.Learned
}

var _ resource.Updater = (*Secret)(nil)

// SecretID returns the ID of a cluster's secret in Secret Manager.
func SecretID(cluster, name string) string { return "det-deploy-" + cluster + "-" + name }

// FullName returns the ID of the secret in Secret Manager.
func (s *Secret) FullName() string { return SecretID(s.In.ID, s.Name) }

// ID returns the resource ID "gcp/secret/NAME".
func (s *Secret) ID() string { return mark.ResourceID(mark.KindSecret, s.Name) }

// Kind returns KindSecret.
func (*Secret) Kind() string { return mark.KindSecret }

// Needs returns nil.
func (*Secret) Needs() []string { return nil }

// Find finds the secret without reading its value.
func (s *Secret) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	return infra.Named(s).Find(ctx)
}

// Create stores the secret.
func (s *Secret) Create(ctx context.Context) error { return infra.Named(s).Create(ctx) }

// Update corrects labels and stores the given value.
func (s *Secret) Update(ctx context.Context, drift []resource.Drift) error {
	return infra.Named(s).Update(ctx, drift)
}

// Delete deletes the secret permanently.
func (s *Secret) Delete(ctx context.Context) error { return infra.Named(s).Delete(ctx) }

// Define implements infra.Defined.
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

// opens describes the data of the user that the secret belongs to.
func (s *Secret) opens() string {
	if s.OpensData {
		return s.In.Outside
	}
	return ""
}

// createSecret creates the secret and stores its value, which may be missing after an interrupted
// run.
func (s *Secret) createSecret(ctx context.Context) error {
	value, notes, err := s.newValue()
	if err != nil {
		return err
	}
	made := false
	err = mark.Insert(ctx, s.In, s.Define(), s.FullName(), func() error {
		err := api.Send(ctx, s.In.Clients.Secrets.Projects.Secrets.Create(s.In.Clients.ProjectName(), &secretmanager.Secret{
			Labels: s.wantedLabels(), Annotations: notes,
			// To an organization policy of locations, automatic replication counts as "global".
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

// checksum returns the CRC32C checksum with which Google verifies the value.
func checksum(data []byte) int64 {
	return int64(crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
}

// Read returns the stored value. It is for use during an apply; plans do not need it.
func (s *Secret) Read(ctx context.Context) (secret.Value, error) {
	text, err := readSecret(ctx, s.In.Clients, s.FullName())
	return secret.Literal(text), err
}

// readSecret returns a version of a secret and verifies its checksum.
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
			Err: errors.New("the checksum of the returned value does not match"),
		}
	}
	return string(data), nil
}

// Give sets the value that the next Create or Update stores.
func (s *Secret) Give(v secret.Value) { s.Given = v }

// Version returns the ID of the stored version, or "" if the secret has no version.
func (s *Secret) Version(ctx context.Context) (string, error) {
	all, err := s.liveVersions(ctx)
	if err != nil || len(all) == 0 {
		return "", infra.IgnoreMissing(err)
	}
	return path.Base(all[0].Name), nil
}

// Secrets returns the kind of the cluster's secrets.
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
