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

// Secret is a secret of the cluster in the cloud's secret store.
type Secret struct {
	// Name identifies it, such as "admin-password".
	Name string
	// Given is the user's value. It replaces a different stored one.
	Given secret.Value
	// Generate generates a value if none is given. It is called once: a stored value stays.
	Generate func() (secret.Value, error)
	// OpensData keeps the secret as long as the data that it opens.
	OpensData bool
}

// StoredSecret is a secret as seen by the engine and the master's machine.
type StoredSecret interface {
	resource.Resource
	resource.Updater
	// Give sets the value that the next Create or Update stores.
	Give(v secret.Value)
	// Read reads the value. It returns an error of kind NotFound if no value is stored.
	Read(ctx context.Context) (secret.Value, error)
	// Version identifies the current value. It is empty if no value is stored.
	Version(ctx context.Context) (string, error)
}

// Vault is the secret store of a cloud.
type Vault interface {
	// Secret returns a secret of the cluster.
	Secret(s Secret) StoredSecret
	// FullName returns the name of a cluster's secret in the store.
	FullName(name string) string
	// ReadForeign reads a secret of the user.
	ReadForeign(ctx context.Context, ref secret.Ref) (secret.Value, error)
}

// watched is a secret whose changes restart the master.
type watched struct {
	StoredSecret

	name string
	// pending is set while Find has found a change of the value that is not stored yet.
	pending bool
	// after lists the resources that must exist first.
	after []string
}

func (c *secrets) watchSecret(s Secret) *watched {
	return &watched{StoredSecret: c.Vault.Secret(s), name: s.Name}
}

var _ resource.Updater = (*watched)(nil)

// Needs returns the resources that must exist first.
func (w *watched) Needs() []string { return w.after }

// Find reads the secret, and records whether its value is about to change.
func (w *watched) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	found, drift, err := w.StoredSecret.Find(ctx)
	w.pending = err == nil && (!found.Exists() || slices.ContainsFunc(drift, func(d resource.Drift) bool { return d.Path == "value" }))
	return found, drift, err
}

// Create stores the secret.
func (w *watched) Create(ctx context.Context) error {
	err := w.StoredSecret.Create(ctx)
	w.pending = w.pending && err != nil
	return err
}

// Update stores the given value.
func (w *watched) Update(ctx context.Context, drift []resource.Drift) error {
	err := w.StoredSecret.Update(ctx, drift)
	w.pending = w.pending && err != nil
	return err
}

// currentVersion returns the current version, or "" if the value is about to change.
func (w *watched) currentVersion(ctx context.Context) (string, error) {
	if w.pending {
		return "", nil
	}
	return w.Version(ctx)
}

// referenceOf returns the reference to a secret of the cluster for configuration files.
func (c *secrets) referenceOf(name string) string {
	return secret.Ref{Scheme: c.Words.Scheme, Name: c.Vault.FullName(name)}.String()
}

// resolveReference returns the reference by which the master finds a secret of the user: in the
// user's secret store, or in the copy that `up` stores.
func (c *secrets) resolveReference(v secret.Value, name string) string {
	if ref, ok := v.Ref(); ok && ref.Scheme == c.Words.Scheme {
		return ref.String()
	}
	return c.referenceOf(name)
}

// isForeign reports whether a value refers to a secret that the user keeps in the cloud's store.
func (c *secrets) isForeign(v secret.Value) bool {
	ref, ok := v.Ref()
	return ok && ref.Scheme == c.Words.Scheme
}

// keptSecret returns a secret that the user gives as a file or variable of this computer. It is
// read now and stored; on a computer without it, the stored value stays.
func (c *secrets) keptSecret(name string) *watched {
	here := c.given[name]
	return c.watchSecret(Secret{
		Name: name, OpensData: opensData(name), Given: here.value,
		Generate: func() (secret.Value, error) {
			return secret.Value{}, fmt.Errorf("store secret %s: %w", name, here.err)
		},
	})
}

// given is a secret read on this computer, or the error of reading it.
type given struct {
	value secret.Value
	err   error
}

// readGiven reads the secrets on this computer to which the spec refers.
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

// referredSecrets returns the secrets to which the spec may refer, by their names in the cluster.
func (c *secrets) referredSecrets() map[string]secret.Value {
	s := c.Common
	return map[string]secret.Value{
		passwordSecret: s.InitialPassword, determinedSecret: s.DeterminedPassword, databaseSecret: s.Database.URL,
		registrySecret: s.Tasks.Registry.Password, tlsSecret: s.TLS.Key,
	}
}

// newPassword returns a random password. The prefix satisfies Determined's rules for any random
// text.
func newPassword() (secret.Value, error) { return secret.Literal("dD1-" + rand.Text()), nil }

// ownSecrets returns the stored secrets that the master reads, except a certificate signed by the
// cluster's CA.
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

// generatedSecret returns a generated password.
func (c *secrets) generatedSecret(name string) *watched {
	return c.watchSecret(Secret{Name: name, OpensData: true, Generate: newPassword})
}

// opensData reports whether a secret is only useful with the data, and is kept with it.
func opensData(name string) bool {
	return slices.Contains([]string{passwordSecret, determinedSecret, databaseSecret}, name)
}

// ForeignSecrets returns the user's secrets in the cloud's store that the master reads.
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

// checkFirstPassword returns an error if the master would reject an initial password.
func checkFirstPassword(name string, v secret.Value) error {
	setting, found := map[string]string{passwordSecret: "initial_password", determinedSecret: "initial_determined_password"}[name]
	if !found || password.Strong(v.Reveal()) {
		return nil
	}
	return fmt.Errorf("%s: the password %s", setting, password.Rule)
}
