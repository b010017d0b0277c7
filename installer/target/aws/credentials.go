package aws

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	sm "github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra"
	"github.com/det-deploy/det-deploy/cloud/secret"
)

// firstUser is who a new cluster has as its administrator.
const firstUser = "admin"

// Credentials is how to log in the first time.
type Credentials struct {
	URL  string
	CA   []byte
	User string
	// Password is the first one; whoever changed it since knows the new one.
	Password secret.Value
}

// Credentials reads the first password of the administrator, and where to use it.
func (t *Target) Credentials(ctx context.Context) (Credentials, error) {
	e, err := t.Endpoint(ctx)
	if err != nil {
		return Credentials{}, err
	}
	password, err := t.firstPassword(ctx)
	return Credentials{e.URL, e.CA, firstUser, password}, err
}

func (t *Target) firstPassword(ctx context.Context) (secret.Value, error) {
	return t.readSecret(ctx, t.Spec.InitialPassword, passwordSecret)
}

// DeterminedPassword reads the first password of the user determined, which is that of
// the administrator where there is only one.
func (t *Target) DeterminedPassword(ctx context.Context) (secret.Value, error) {
	if t.Spec.DeterminedPassword.IsZero() && !t.Spec.InitialPassword.IsZero() {
		return t.firstPassword(ctx)
	}
	p, err := t.readSecret(ctx, t.Spec.DeterminedPassword, determinedSecret)
	if cloud.KindOf(err) == cloud.NotFound {
		return t.firstPassword(ctx) // a version before this one made one for both
	}
	return p, err
}

// readSecret reads the secret that v refers to: where the user keeps it, or where `up`
// has put it.
func (t *Target) readSecret(ctx context.Context, v secret.Value, name string) (secret.Value, error) {
	if ref, ok := v.Ref(); ok && ref.Scheme == secret.AWS {
		return t.foreign(ctx, ref)
	}
	return (&infra.Secret{In: t.cluster, Name: name}).Read(ctx)
}

// hasDeterminedPassword reports whether determined has a first password of its own.
func (t *Target) hasDeterminedPassword() bool {
	return !t.Spec.DeterminedPassword.IsZero() || t.Known.DeterminedPassword
}

// passwords looks whether `up` makes a password of determined: nobody gave one for
// admin, which is that of both, and the cluster is of no version that made one for
// both. This one stores that of determined first.
func (l *looking) passwords(ctx context.Context) error {
	l.known.DeterminedPassword = false
	if !l.Spec.InitialPassword.IsZero() || !l.Spec.DeterminedPassword.IsZero() {
		return nil
	}
	one, err := l.hasSecret(ctx, passwordSecret)
	if err != nil {
		return err
	}
	two, err := l.hasSecret(ctx, determinedSecret)
	l.known.DeterminedPassword = two || !one
	return err
}

func (l *looking) hasSecret(ctx context.Context, name string) (bool, error) {
	_, err := l.Clients.Secrets.DescribeSecret(ctx, &sm.DescribeSecretInput{SecretId: aws.String(infra.SecretName(l.Spec.Cluster, name))})
	if cloud.KindOf(err) == cloud.NotFound {
		return false, nil
	}
	return err == nil, err
}
