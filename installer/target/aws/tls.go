package aws

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

const (
	// caLife is how long a cluster's CA holds: longer than anybody keeps one.
	caLife = 10 * 365 * 24 * time.Hour
	// leafLife is how long the master's certificate holds; `up` makes another when
	// less than leafRenew of it is left.
	leafLife  = 825 * 24 * time.Hour // the longest that macOS accepts
	leafRenew = 60 * 24 * time.Hour
)

// internalName is what a cluster's certificate is for besides its address. It
// resolves nowhere: agents reach the master by its address and expect this name.
func internalName(cluster string) string { return "master." + cluster + ".det-deploy.internal" }

// pair is a key and its certificate with the chain, PEM, in one text, so that
// they are replaced together.
type pair struct{ pem []byte }

// certificates is the pair without its key.
func (p pair) certificates() []byte {
	var out []byte
	for rest := p.pem; ; {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			return out
		}
		if b.Type == "CERTIFICATE" {
			out = append(out, pem.EncodeToMemory(b)...)
		}
	}
}

// open parses the pair.
func (p pair) open() (*x509.Certificate, crypto.Signer, error) {
	c, err := tls.X509KeyPair(p.pem, p.pem)
	if err != nil {
		return nil, nil, err
	}
	key, ok := c.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, nil, errors.New("the key cannot sign")
	}
	return c.Leaf, key, nil
}

// newCA makes a CA for one cluster.
func newCA(cluster string, now time.Time) (pair, error) {
	ca := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "det-deploy CA of cluster " + cluster},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(caLife),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	return issue(ca, nil, nil)
}

// newLeaf makes the master's certificate for hosts, signed by ca.
func newLeaf(ca pair, hosts []string, now time.Time) (pair, error) {
	signer, key, err := ca.open()
	if err != nil {
		return pair{}, fmt.Errorf("open the cluster's CA: %w", err)
	}
	leaf := &x509.Certificate{
		Subject:   pkix.Name{CommonName: hosts[0]},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(leafLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, host)
		}
	}
	p, err := issue(leaf, signer, key)
	if err != nil {
		return pair{}, err
	}
	return pair{bytes.Join([][]byte{p.pem, ca.certificates()}, nil)}, nil
}

// issue makes a key and has it signed by parent, or by itself.
func issue(template, parent *x509.Certificate, by crypto.Signer) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return pair{}, err
	}
	if parent == nil {
		parent, by = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		return pair{}, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return pair{}, err
	}
	return pair{append(
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...,
	)}, nil
}

// staleLeaf says why a leaf has to be made anew, or nothing.
func staleLeaf(leaf, ca pair, hosts []string, now time.Time) string {
	cert, _, err := leaf.open()
	if err != nil {
		return "unreadable"
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.certificates())
	if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now}); err != nil {
		return "not signed by the cluster's CA"
	}
	for _, host := range hosts {
		if cert.VerifyHostname(host) != nil {
			return "not for " + host
		}
	}
	if cert.NotAfter.Sub(now) < leafRenew {
		return "until " + cert.NotAfter.Format(time.DateOnly)
	}
	return ""
}
