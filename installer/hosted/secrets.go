package hosted

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/master/api/password"
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

// Secret is what a cluster keeps in its cloud's store of secrets.
type Secret struct {
	// Name identifies it: "admin-password".
	Name string
	// Given is the user's value. A stored one that differs is replaced.
	Given secret.Value
	// Generate makes the value where none is given. It is asked once: a stored
	// value stays.
	Generate func() (secret.Value, error)
	// OpensData keeps it as long as the data that it opens.
	OpensData bool
}

// StoredSecret is such a secret, as the engine and the master's machine see it.
type StoredSecret interface {
	resource.Resource
	resource.Updater
	// Give has another value stored by the next Create or Update.
	Give(v secret.Value)
	// Read reads the value. It is a refusal of kind NotFound when there is none.
	Read(ctx context.Context) (secret.Value, error)
	// Version identifies a value. It is empty when there is none.
	Version(ctx context.Context) (string, error)
}

// Vault is a cloud's store of secrets.
type Vault interface {
	// Secret is one of the cluster's own.
	Secret(s Secret) StoredSecret
	// FullName is how one of the cluster's own is referred to.
	FullName(name string) string
	// ReadForeign reads one that is the user's.
	ReadForeign(ctx context.Context, ref secret.Ref) (secret.Value, error)
}

// watched is a secret whose changes restart the master.
type watched struct {
	StoredSecret

	name string
	// pending is true when Find saw that its value is about to change.
	pending bool
	// after are the resources that must exist before it.
	after []string
}

func (c *secrets) watchSecret(s Secret) *watched {
	return &watched{StoredSecret: c.Vault.Secret(s), name: s.Name}
}

var _ resource.Updater = (*watched)(nil)

// Needs lists what must exist before it.
func (w *watched) Needs() []string { return w.after }

// Find looks at it, and remembers whether its value is about to change.
func (w *watched) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	found, drift, err := w.StoredSecret.Find(ctx)
	w.pending = err == nil && (!found.Exists() || slices.ContainsFunc(drift, func(d resource.Drift) bool { return d.Path == "value" }))
	return found, drift, err
}

// Create stores it.
func (w *watched) Create(ctx context.Context) error {
	err := w.StoredSecret.Create(ctx)
	w.pending = w.pending && err != nil
	return err
}

// Update stores the value that was given.
func (w *watched) Update(ctx context.Context, drift []resource.Drift) error {
	err := w.StoredSecret.Update(ctx, drift)
	w.pending = w.pending && err != nil
	return err
}

// currentVersion is the cloud's name of the current value, empty while that is about to
// change.
func (w *watched) currentVersion(ctx context.Context) (string, error) {
	if w.pending {
		return "", nil
	}
	return w.Version(ctx)
}

// referenceOf is a reference to a secret of the cluster, as configuration has it.
func (c *secrets) referenceOf(name string) string {
	return secret.Ref{Scheme: c.Words.Scheme, Name: c.Vault.FullName(name)}.String()
}

// resolveReference is where the master finds a secret that the user referred to: in their
// own store, or where `up` copies it.
func (c *secrets) resolveReference(v secret.Value, name string) string {
	if ref, ok := v.Ref(); ok && ref.Scheme == c.Words.Scheme {
		return ref.String()
	}
	return c.referenceOf(name)
}

// isForeign reports whether the user keeps a secret in the cloud's store by
// themselves.
func (c *secrets) isForeign(v secret.Value) bool {
	ref, ok := v.Ref()
	return ok && ref.Scheme == c.Words.Scheme
}

// keptSecret is a secret that the user refers to as a file or variable of this machine.
// It is read now and stored; on a machine that does not have it, the stored one
// stays.
func (c *secrets) keptSecret(name string) *watched {
	here := c.given[name]
	return c.watchSecret(Secret{
		Name: name, OpensData: opensData(name), Given: here.value,
		Generate: func() (secret.Value, error) {
			return secret.Value{}, fmt.Errorf("store secret %s: %w", name, here.err)
		},
	})
}

// given is a secret of this machine, or why it cannot be read.
type given struct {
	value secret.Value
	err   error
}

// readGiven reads the secrets of this machine that the spec refers to.
func (c *secrets) readGiven(ctx context.Context) {
	c.given = make(map[string]given)
	for name, v := range c.referredSecrets() {
		if v.IsZero() || c.isForeign(v) {
			continue
		}
		value, err := c.Secrets.Resolve(ctx, v)
		if err == nil {
			err = checkFirstPassword(name, value)
		}
		if err != nil {
			value = secret.Value{}
		}
		c.given[name] = given{value, err}
	}
}

// referredSecrets are the secrets that the spec may refer to, by the name under which the
// cluster stores them.
func (c *secrets) referredSecrets() map[string]secret.Value {
	s := c.Common
	return map[string]secret.Value{
		passwordSecret: s.InitialPassword, determinedSecret: s.DeterminedPassword, databaseSecret: s.Database.URL,
		registrySecret: s.Tasks.Registry.Password, tlsSecret: s.TLS.Key,
	}
}

// newPassword keeps the rule of Determined, whatever the letters are.
func newPassword() (secret.Value, error) { return secret.Literal("dD1-" + rand.Text()), nil }

// ownSecrets lists the secrets that the cluster keeps and the master reads, but for
// a certificate of the cluster's own CA.
func (c *secrets) ownSecrets() []*watched {
	var out []*watched
	if c.Common.InitialPassword.IsZero() {
		out = append(out, c.generatedSecret(passwordSecret))
	}
	if c.makesDeterminedPassword() {
		determined := c.generatedSecret(determinedSecret)
		out[0].after = []string{determined.ID()}
		out = append(out, determined)
	}
	for _, name := range slices.Sorted(maps.Keys(c.given)) {
		out = append(out, c.keptSecret(name))
	}
	return out
}

// generatedSecret is a password that the settings do not have.
func (c *secrets) generatedSecret(name string) *watched {
	return c.watchSecret(Secret{Name: name, OpensData: true, Generate: newPassword})
}

// opensData reports whether a secret is of use only with the data, and kept with it.
func opensData(name string) bool {
	return slices.Contains([]string{passwordSecret, determinedSecret, databaseSecret}, name)
}

// ForeignSecrets lists the secrets in the cloud's store that are the user's and that
// the master reads.
func (c *secrets) ForeignSecrets() []string {
	var out []string
	for _, v := range c.referredSecrets() {
		if ref, ok := v.Ref(); ok && ref.Scheme == c.Words.Scheme {
			out = append(out, ref.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// checkFirstPassword refuses a first password that the master would refuse.
func checkFirstPassword(name string, v secret.Value) error {
	setting, found := map[string]string{passwordSecret: "initial_password", determinedSecret: "initial_determined_password"}[name]
	if !found || password.Strong(v.Reveal()) {
		return nil
	}
	return fmt.Errorf("%s: the password %s", setting, password.Rule)
}
