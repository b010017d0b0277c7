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

// leaf is the master's key and certificate, signed by the cluster's CA for its
// fixed name and its address. It is renewed before it expires, and when the address
// changes.
type leaf struct {
	*watched

	c       *Cluster
	ca      StoredSecret
	address Address
	// signed is true once the value was made.
	signed bool

	mu   sync.Mutex // guards cert
	cert []byte     // the CA's certificate, once read
}

var _ resource.Updater = (*leaf)(nil)

// errNoLeaf refuses to store a certificate that is not signed.
func errNoLeaf() (secret.Value, error) {
	return secret.Value{}, errors.New("store the master's certificate: it is not signed yet")
}

// authoritySecret is the cluster's CA. Only the installer
// reads its key, to sign the master's certificates.
func (c *secrets) authoritySecret() StoredSecret {
	return c.Vault.Secret(Secret{Name: caSecret, Generate: func() (secret.Value, error) {
		ca, err := pki.NewAuthority("det-deploy CA of cluster "+c.Common.Cluster, c.Now())
		return secret.Literal(string(ca.Text())), err
	}})
}

// Needs the CA and the address that it is for.
func (l *leaf) Needs() []string { return []string{l.ca.ID(), l.address.ID()} }

// Find looks at it, and whether it still holds.
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

// staleReason says why the certificate has to be renewed; it is empty if it need not be.
func (l *leaf) staleReason(ctx context.Context) (string, error) {
	ca, err := l.ca.Read(ctx)
	if cloud.KindOf(err) == cloud.NotFound {
		return "the cluster's CA is gone", nil
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
		return "the master's address is gone", nil
	}
	return staleLeafReason(openPair(have), openPair(ca), l.hostNames(), l.c.Now()), nil
}

func (l *leaf) hostNames() []string {
	return []string{internalName(l.c.Common.Cluster), l.address.PublicIP()}
}

// Create signs one and stores it.
func (l *leaf) Create(ctx context.Context) error {
	if err := l.signLeaf(ctx); err != nil {
		return err
	}
	return l.watched.Create(ctx)
}

// Update signs another one where the old one does not hold.
func (l *leaf) Update(ctx context.Context, drift []resource.Drift) error {
	if err := l.signLeaf(ctx); err != nil {
		return err
	}
	l.pending = true
	return l.watched.Update(ctx, append(drift, resource.Drift{Path: "value", Have: "another one", Want: "the new one"}))
}

// signLeaf signs once, so that a repeated call stores the same value.
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

// authorityPEM is the CA's certificate.
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

// internalName is what a cluster's certificate is for besides its address. It
// resolves nowhere: agents reach the master by its address and expect this name.
func internalName(cluster string) string { return "master." + cluster + ".det-deploy.internal" }

// staleLeafReason says why a leaf has to be renewed; it is empty if it need not be.
func staleLeafReason(leaf, ca pki.Pair, hosts []string, now time.Time) string {
	cert, _, err := leaf.Open()
	if err != nil {
		return "unreadable"
	}
	return pki.Stale(cert, ca.Certificate, hosts, now)
}
