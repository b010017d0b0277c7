package hosted

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/internal/pki"
)

// leaf is the master's key and certificate, signed by the cluster's CA for its fixed name and its
// address. It is renewed before it expires and when the address changes.
type leaf struct {
	*watched

	c       *Cluster
	ca      StoredSecret
	address Address
	// signed is set once the certificate is made.
	signed bool

	mu   sync.Mutex // guards cert
	cert []byte     // the CA's certificate, once read
}

var _ resource.Updater = (*leaf)(nil)

// errNoLeaf reports an attempt to store a certificate before it is signed.
func errNoLeaf() (secret.Value, error) {
	return secret.Value{}, errors.New("store the master's certificate: it is not signed yet")
}

// authoritySecret returns the cluster's CA. Only the installer reads its key, to sign the master's
// certificates.
func (c *secrets) authoritySecret() StoredSecret {
	return c.Vault.Secret(Secret{Name: caSecret, Generate: func() (secret.Value, error) {
		ca, err := pki.NewAuthority("det-deploy CA of cluster "+c.Common.Cluster, c.Now())
		return secret.Literal(string(ca.Text())), err
	}})
}

// Needs returns the CA and the address in the certificate.
func (l *leaf) Needs() []string { return []string{l.ca.ID(), l.address.ID()} }

// Find reads the certificate and reports drift if it must be renewed.
func (l *leaf) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	found, drift, err := l.watched.Find(ctx)
	if err != nil || !found.Exists() {
		return found, drift, err
	}
	why, err := l.staleReason(ctx)
	if err != nil {
		return resource.Found{}, nil, err
	}
	if why != "" {
		l.pending = true
		drift = append(drift, resource.Drift{Path: "certificate", Have: why, Want: "valid for the master's name and address"})
	}
	return found, drift, nil
}

// staleReason returns the reason to renew the certificate, or "" if it is valid.
func (l *leaf) staleReason(ctx context.Context) (string, error) {
	ca, err := l.ca.Read(ctx)
	if cloud.KindOf(err) == cloud.NotFound {
		return "the cluster's CA does not exist", nil
	}
	if err != nil {
		return "", err
	}
	have, err := l.Read(ctx)
	if cloud.KindOf(err) == cloud.NotFound {
		return "it has no value yet", nil
	}
	if err != nil {
		return "", err
	}
	if l.address.PublicIP() == "" {
		return "the master's address does not exist", nil
	}
	return staleLeafReason(openPair(have), openPair(ca), l.hostNames(), l.c.Now()), nil
}

func (l *leaf) hostNames() []string {
	return []string{internalName(l.c.Common.Cluster), l.address.PublicIP()}
}

// Create signs and stores a certificate.
func (l *leaf) Create(ctx context.Context) error {
	if err := l.signLeaf(ctx); err != nil {
		return err
	}
	return l.watched.Create(ctx)
}

// Update signs and stores a new certificate.
func (l *leaf) Update(ctx context.Context, drift []resource.Drift) error {
	if err := l.signLeaf(ctx); err != nil {
		return err
	}
	l.pending = true
	return l.watched.Update(ctx, append(drift, resource.Drift{Path: "value", Have: "another one", Want: "the new one"}))
}

// signLeaf signs only once, so that a repeated call stores the same value.
func (l *leaf) signLeaf(ctx context.Context) error {
	if l.signed {
		return nil
	}
	if l.address.PublicIP() == "" {
		return errors.New("sign the master's certificate: its address is not known")
	}
	ca, err := l.ca.Read(ctx)
	if err != nil {
		return err
	}
	signer, hosts := openPair(ca), l.hostNames()
	p, err := signer.NewLeaf(hosts[0], hosts, l.c.Now())
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.cert = signer.Certificate
	l.mu.Unlock()
	l.Give(secret.Literal(string(p.Text())))
	l.signed = true
	return nil
}

func openPair(text secret.Value) pki.Pair { return pki.Split([]byte(text.Reveal())) }

// authorityPEM returns the CA's certificate.
func (l *leaf) authorityPEM(ctx context.Context) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cert != nil {
		return l.cert, nil
	}
	ca, err := l.ca.Read(ctx)
	if err != nil {
		return nil, err
	}
	l.cert = openPair(ca).Certificate
	return l.cert, nil
}

// internalName returns the fixed name in a cluster's certificate. It has no DNS record: agents
// connect to the master's address and expect this name.
func internalName(cluster string) string { return "master." + cluster + ".det-deploy.internal" }

// staleLeafReason returns the reason to renew a leaf, or "" if it is valid.
func staleLeafReason(leaf, ca pki.Pair, hosts []string, now time.Time) string {
	cert, _, err := leaf.Open()
	if err != nil {
		return "unreadable"
	}
	return pki.Stale(cert, ca.Certificate, hosts, now)
}
