package aws

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	sm "github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/cloud/secret"
)

// The names of the cluster's secrets.
const (
	passwordSecret   = "admin-password"
	determinedSecret = "determined-password"
	databaseSecret   = "db-url"
	registrySecret   = "registry-password"
	tlsSecret        = "tls-key"
	caSecret         = "tls-ca-key"
)

// watched is a secret whose changes the master's machine is told about.
type watched struct {
	*infra.Secret

	// pending is true when Find saw that its value is about to change.
	pending bool
	// after are the resources that must exist before it.
	after []string
}

var _ resource.Updater = (*watched)(nil)

// Needs lists what must exist before it.
func (w *watched) Needs() []string { return w.after }

// Find looks at it, and remembers whether its value is about to change.
func (w *watched) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	found, drift, err := w.Secret.Find(ctx)
	w.pending = err == nil && (!found.Exists() || slices.ContainsFunc(drift, func(d resource.Drift) bool { return d.Path == "value" }))
	return found, drift, err
}

// Create stores it.
func (w *watched) Create(ctx context.Context) error {
	err := w.Secret.Create(ctx)
	w.pending = w.pending && err != nil
	return err
}

// Update stores the value that was given.
func (w *watched) Update(ctx context.Context, drift []resource.Drift) error {
	err := w.Secret.Update(ctx, drift)
	w.pending = w.pending && err != nil
	return err
}

// version is what Amazon calls the value that counts, or empty while that is
// about to change.
func (w *watched) version(ctx context.Context) (string, error) {
	if w.pending {
		return "", nil
	}
	out, err := w.In.Clients.Secrets.DescribeSecret(ctx, &sm.DescribeSecretInput{SecretId: aws.String(infra.SecretName(w.In.ID, w.Name))})
	if cloud.KindOf(err) == cloud.NotFound {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for version, stages := range out.VersionIdsToStages {
		if slices.Contains(stages, "AWSCURRENT") {
			return version, nil
		}
	}
	return "unknown", nil
}

// reference is a secret of the cluster's own, as configuration refers to it.
func (t *Target) reference(name string) string {
	return secret.Ref{Scheme: secret.AWS, Name: infra.SecretName(t.Spec.Cluster, name)}.String()
}

// refer is where the master finds a secret that the user referred to: where they
// keep it, or where `up` puts it.
func (t *Target) refer(v secret.Value, name string) string {
	if ref, ok := v.Ref(); ok && ref.Scheme == secret.AWS {
		return ref.String()
	}
	return t.reference(name)
}

// elsewhere reports whether the user keeps a secret in Secrets Manager by
// themselves.
func elsewhere(v secret.Value) bool {
	ref, ok := v.Ref()
	return ok && ref.Scheme == secret.AWS
}

// kept is a secret that the user refers to as a file or variable of this machine.
// It is read now and stored; on a machine that does not have it, the stored one
// stays.
func (t *Target) kept(name string) *watched {
	here := t.given[name]
	return &watched{Secret: &infra.Secret{
		In: t.cluster, Name: name, OpensData: opensData(name), Given: here.value,
		Generate: func() (secret.Value, error) {
			return secret.Value{}, fmt.Errorf("store secret %s: %w", name, here.err)
		},
	}}
}

// given is a secret of this machine, or why it cannot be read.
type given struct {
	value secret.Value
	err   error
}

// read reads the secrets of this machine that the spec refers to.
func (t *Target) read(ctx context.Context) {
	t.given = make(map[string]given)
	for name, v := range t.referred() {
		if v.IsZero() || elsewhere(v) {
			continue
		}
		value, err := t.Secrets.Resolve(ctx, v)
		if err != nil {
			value = secret.Value{}
		}
		t.given[name] = given{value, err}
	}
}

// referred is every secret that the spec may refer to, by the name under which
// the cluster keeps it.
func (t *Target) referred() map[string]secret.Value {
	s := t.Spec
	return map[string]secret.Value{
		passwordSecret: s.InitialPassword, determinedSecret: s.DeterminedPassword, databaseSecret: s.Database.URL,
		registrySecret: s.Tasks.Registry.Password, tlsSecret: s.TLS.Key,
	}
}

// newPassword keeps the rule of Determined, whatever the letters are.
func newPassword() (secret.Value, error) { return secret.Literal("dD1-" + rand.Text()), nil }

// ownSecrets lists the secrets that the cluster keeps and the master reads, but for
// a certificate of the cluster's own CA.
func (t *Target) ownSecrets() []*watched {
	var out []*watched
	if t.Spec.InitialPassword.IsZero() {
		out = append(out, t.generated(passwordSecret))
	}
	if t.Known.DeterminedPassword {
		determined := t.generated(determinedSecret)
		out[0].after = []string{determined.ID()}
		out = append(out, determined)
	}
	for _, name := range slices.Sorted(maps.Keys(t.given)) {
		out = append(out, t.kept(name))
	}
	return out
}

// generated is a password that nobody gave.
func (t *Target) generated(name string) *watched {
	return &watched{Secret: &infra.Secret{In: t.cluster, Name: name, OpensData: true, Generate: newPassword}}
}

// opensData reports whether a secret is of use only with the data, and kept with it.
func opensData(name string) bool {
	return slices.Contains([]string{passwordSecret, determinedSecret, databaseSecret}, name)
}

// foreignSecrets lists the secrets in Secrets Manager that are the user's and that
// the master reads.
func (t *Target) foreignSecrets() []string {
	var out []string
	for _, v := range t.referred() {
		if ref, ok := v.Ref(); ok && ref.Scheme == secret.AWS {
			out = append(out, ref.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ownCA is what agents and clients trust where the certificate is the user's.
func (t *Target) ownCA() []byte {
	if t.Spec.TLS.CA != "" {
		return []byte(t.Spec.TLS.CA)
	}
	var last []byte
	for rest := []byte(t.Spec.TLS.Certificate); ; {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			return last
		}
		last = pem.EncodeToMemory(b)
	}
}

// foreign reads a secret that the user keeps in Secrets Manager.
func (t *Target) foreign(ctx context.Context, ref secret.Ref) (secret.Value, error) {
	return SecretSource{t.Clients.Secrets}.value(ctx, ref)
}

// SecretSource reads aws-sm: references.
type SecretSource struct{ Secrets api.Secrets }

var _ secret.Source = SecretSource{}

// Secret implements secret.Source.
func (s SecretSource) Secret(ctx context.Context, ref secret.Ref) (string, error) {
	v, err := s.value(ctx, ref)
	return v.Reveal(), err
}

func (s SecretSource) value(ctx context.Context, ref secret.Ref) (secret.Value, error) {
	out, err := s.Secrets.GetSecretValue(ctx, &sm.GetSecretValueInput{SecretId: aws.String(ref.Name)})
	if err != nil {
		return secret.Value{}, err
	}
	text := aws.ToString(out.SecretString)
	if ref.Key == "" {
		return secret.Literal(text), nil
	}
	var entries map[string]string
	if err := json.Unmarshal([]byte(text), &entries); err != nil {
		return secret.Value{}, fmt.Errorf("read entry %s of secret %s: it is no JSON mapping of texts", ref.Key, ref.Name)
	}
	return secret.Literal(entries[ref.Key]), nil
}
