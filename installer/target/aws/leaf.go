package aws

import (
	"context"
	"errors"
	"sync"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/pki"
)

// leaf is the master's key and certificate, signed by the cluster's CA for its
// fixed name and its address. It is made anew before it ends, and when the address
// changes.
type leaf struct {
	*watched

	t       *Target
	ca      *infra.Secret
	address *infra.Address

	mu   sync.Mutex // guards cert
	cert []byte     // the CA's certificate, once read
}

var _ resource.Updater = (*leaf)(nil)

// errNoLeaf refuses to store a certificate that nobody signed.
func errNoLeaf() (secret.Value, error) {
	return secret.Value{}, errors.New("store the master's certificate: it is not signed yet")
}

// authoritySecret is the cluster's CA. Its key signs the master's certificates and
// is read by nobody else.
func (t *Target) authoritySecret() *infra.Secret {
	return &infra.Secret{In: t.cluster, Name: caSecret, Generate: func() (secret.Value, error) {
		ca, err := pki.NewAuthority("det-deploy CA of cluster "+t.Spec.Cluster, t.Now())
		return secret.Literal(string(ca.Text())), err
	}}
}

// Needs the CA and the address that it is for.
func (l *leaf) Needs() []string { return []string{l.ca.ID(), l.address.ID()} }

// Find looks at it, and whether it still holds.
func (l *leaf) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	found, drift, err := l.watched.Find(ctx)
	if err != nil || !found.Exists() {
		return found, drift, err
	}
	why, err := l.stale(ctx)
	if err != nil {
		return resource.Found{}, nil, err
	}
	if why != "" {
		l.pending = true
		drift = append(drift, resource.Drift{Path: "certificate", Have: why, Want: "valid for the master's name and address"})
	}
	return found, drift, nil
}

// stale says why it has to be made anew, or nothing.
func (l *leaf) stale(ctx context.Context) (string, error) {
	ca, err := l.ca.Read(ctx)
	if cloud.KindOf(err) == cloud.NotFound {
		return "the cluster's CA is gone", nil
	}
	if err != nil {
		return "", err
	}
	have, err := l.Read(ctx)
	if err != nil {
		return "", err
	}
	if l.address.PublicIP() == "" {
		return "the master's address is gone", nil
	}
	return staleLeaf(split(have), split(ca), l.hosts(), l.t.Now()), nil
}

func (l *leaf) hosts() []string {
	return []string{internalName(l.t.Spec.Cluster), l.address.PublicIP()}
}

// Create signs one and stores it.
func (l *leaf) Create(ctx context.Context) error {
	if err := l.sign(ctx); err != nil {
		return err
	}
	return l.watched.Create(ctx)
}

// Update signs another one where the old one does not hold.
func (l *leaf) Update(ctx context.Context, drift []resource.Drift) error {
	if err := l.sign(ctx); err != nil {
		return err
	}
	l.pending = true
	return l.watched.Update(ctx, append(drift, resource.Drift{Path: "value", Have: "another one", Want: "the new one"}))
}

// sign makes the value once, so that a call that is repeated stores the same.
func (l *leaf) sign(ctx context.Context) error {
	if !l.Given.IsZero() {
		return nil
	}
	if l.address.PublicIP() == "" {
		return errors.New("sign the master's certificate: its address is not known")
	}
	ca, err := l.ca.Read(ctx)
	if err != nil {
		return err
	}
	signer, hosts := split(ca), l.hosts()
	p, err := signer.NewLeaf(hosts[0], hosts, l.t.Now())
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.cert = signer.Certificate
	l.mu.Unlock()
	l.Given = secret.Literal(string(p.Text()))
	return nil
}

func split(text secret.Value) pki.Pair { return pki.Split([]byte(text.Reveal())) }

// authority is the CA's certificate.
func (l *leaf) authority(ctx context.Context) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cert != nil {
		return l.cert, nil
	}
	ca, err := l.ca.Read(ctx)
	if err != nil {
		return nil, err
	}
	l.cert = split(ca).Certificate
	return l.cert, nil
}
