// Package pki creates a cluster's certificate authority and the server certificates of masters, on
// every platform. It imports no other package of this module.
package pki

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
	"slices"
	"time"
)

const (
	// AuthorityLife exceeds the lifetime of a cluster, because agents and clients pin its authority
	// and cannot be given another one.
	AuthorityLife = 20 * 365 * 24 * time.Hour
	// LeafLife is the maximum that macOS accepts from an authority added by a user.
	LeafLife = 825 * 24 * time.Hour
	// RenewBefore is the minimum remaining validity of a leaf: two months of restarts without a run
	// of `up`.
	RenewBefore = 60 * 24 * time.Hour
	// backdate permits machines whose clocks are slow.
	backdate = time.Hour
)

// Pair is a certificate with its chain, and its key, both in PEM.
type Pair struct{ Certificate, Key []byte }

// Split parses a pair from one text.
func Split(text []byte) Pair {
	var p Pair
	for b, rest := pem.Decode(text); b != nil; b, rest = pem.Decode(rest) {
		if b.Type == "CERTIFICATE" {
			p.Certificate = append(p.Certificate, pem.EncodeToMemory(b)...)
		} else {
			p.Key = append(p.Key, pem.EncodeToMemory(b)...)
		}
	}
	return p
}

// Text returns both in one text, so that they are replaced together.
func (p Pair) Text() []byte { return bytes.Join([][]byte{p.Key, p.Certificate}, nil) }

// Open parses the pair. It returns an error if the key cannot sign, or does not match the
// certificate.
func (p Pair) Open() (*x509.Certificate, crypto.Signer, error) {
	c, err := tls.X509KeyPair(p.Certificate, p.Key)
	if err != nil {
		return nil, nil, err
	}
	key, ok := c.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, nil, errors.New("the key cannot sign")
	}
	return c.Leaf, key, nil
}

// NewAuthority creates an authority that can sign leaves but no further authorities.
func NewAuthority(name string, now time.Time) (Pair, error) {
	return issueCertificate(&x509.Certificate{
		Subject:   pkix.Name{CommonName: name},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(AuthorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}, nil, nil)
}

// NewLeaf creates a server certificate for hosts, which are names and addresses, and appends the
// authority's certificate. Empty hosts are skipped.
func (ca Pair) NewLeaf(name string, hosts []string, now time.Time) (Pair, error) {
	parent, signer, err := ca.Open()
	if err != nil {
		return Pair{}, fmt.Errorf("open the cluster's CA: %w", err)
	}
	leaf := &x509.Certificate{
		Subject:   pkix.Name{CommonName: name},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(LeafLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else if host != "" {
			leaf.DNSNames = append(leaf.DNSNames, host)
		}
	}
	p, err := issueCertificate(leaf, parent, signer)
	p.Certificate = append(p.Certificate, ca.Certificate...)
	return p, err
}

// issueCertificate creates a key and a certificate for it, signed by parent or self-signed.
func issueCertificate(template, parent *x509.Certificate, signer crypto.Signer) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return Pair{}, err
	}
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return Pair{}, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
	}, nil
}

// Stale returns the reason why a leaf has to be reissued, or "". A leaf is valid for all hosts,
// signed by one of the certificates in authority (PEM), and does not expire soon. The expiry of the
// authority is not checked, because another leaf would not fix it.
func Stale(leaf *x509.Certificate, authority []byte, hosts []string, now time.Time) string {
	if leaf.NotAfter.Sub(now) < RenewBefore {
		return "expires on " + leaf.NotAfter.Format(time.DateOnly)
	}
	if !signedBy(leaf, authority) {
		return "not signed by the cluster's CA"
	}
	for _, host := range hosts {
		if host != "" && leaf.VerifyHostname(host) != nil {
			return "not valid for " + host
		}
	}
	return ""
}

func signedBy(leaf *x509.Certificate, authority []byte) bool {
	return slices.ContainsFunc(certificates(authority), func(ca *x509.Certificate) bool { return leaf.CheckSignatureFrom(ca) == nil })
}
