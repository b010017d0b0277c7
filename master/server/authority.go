package server

import (
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
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/atomicfile"
)

const (
	// authorityLife outlives the cluster: agents and clients pin it, and cannot be
	// told of another one.
	authorityLife = 20 * 365 * 24 * time.Hour
	// leafLife is below the 398 days that browsers accept.
	leafLife = 397 * 24 * time.Hour
	// renewBefore leaves a month of restarts and clock errors.
	renewBefore = 30 * 24 * time.Hour
	// backdate is for clients whose clocks are behind ours.
	backdate = time.Hour
)

// Authority is a certificate authority of our own with one leaf, the master's. The
// leaf is renewed in time and whenever its names change; the authority stays.
type Authority struct {
	dir   string
	names []string
	now   func() time.Time

	ca    *x509.Certificate
	caKey crypto.Signer

	mu   sync.Mutex // guards leaf
	leaf *tls.Certificate
}

// OpenAuthority reads the authority kept in dir, or makes one there. The leaf is for
// names, host names and addresses, and always for localhost.
func OpenAuthority(dir string, names []string, now func() time.Time) (*Authority, error) {
	a := &Authority{dir: dir, now: now, names: append(slices.Clone(names), "localhost", "127.0.0.1", "::1")}
	for i, n := range a.names {
		if ip := net.ParseIP(n); ip != nil {
			a.names[i] = ip.String() // as it will be read back from the certificate
		}
	}
	slices.Sort(a.names)
	a.names = slices.DeleteFunc(slices.Compact(a.names), func(n string) bool { return n == "" })
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep certificates: %w", err)
	}
	if err := a.openCA(); err != nil {
		return nil, err
	}
	if pair, err := tls.LoadX509KeyPair(a.path("master.crt"), a.path("master.key")); err == nil {
		a.leaf = &pair
	}
	_, err := a.Certificate()
	return a, err
}

// CAFile is what clients and agents pin.
func (a *Authority) CAFile() string { return a.path("ca.crt") }

func (a *Authority) path(name string) string { return filepath.Join(a.dir, name) }

func (a *Authority) openCA() error {
	// An authority of which a part is gone or damaged is a refusal, never a new
	// authority: everybody has pinned the old one. A key alone was cut off before
	// anybody could.
	if a.absent("ca.crt") && a.absent("master.crt") {
		if _, err := a.makeCA(); err != nil {
			return fmt.Errorf("make the cluster's certificate authority: %w", err)
		}
	}
	fix := fmt.Sprintf("put ca.crt and ca.key back from a copy of %s, or, where there is none, move that directory away: "+
		"the master then makes a new authority, whose ca.crt every agent and client has to be given", a.dir)
	pair, err := readPair(a.path("ca.crt"), a.path("ca.key"), fix)
	if err != nil {
		return fmt.Errorf("open the cluster's certificate authority: %w", err)
	}
	signer, ok := pair.PrivateKey.(crypto.Signer)
	if !ok || pair.Leaf == nil || !pair.Leaf.IsCA {
		return &atomicfile.DamagedError{Path: a.path("ca.crt"), Err: errors.New("it is not an authority's certificate"), Fix: fix}
	}
	a.ca, a.caKey = pair.Leaf, signer
	return nil
}

func (a *Authority) absent(name string) bool {
	_, err := os.Stat(a.path(name))
	return errors.Is(err, os.ErrNotExist)
}

func (a *Authority) makeCA() (tls.Certificate, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "det-deploy cluster CA"},
		NotBefore:             a.now().Add(-backdate),
		NotAfter:              a.now().Add(authorityLife),
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	return a.make("ca", template, nil, nil)
}

// Certificate implements CertificateSource.
func (a *Authority) Certificate() (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.leaf != nil && a.good(a.leaf.Leaf) {
		return a.leaf, nil
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "det-deploy master"},
		NotBefore:   a.now().Add(-backdate),
		NotAfter:    a.now().Add(leafLife),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range a.names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	pair, err := a.make("master", template, a.ca, a.caKey)
	if err != nil {
		return nil, fmt.Errorf("make the master's certificate: %w", err)
	}
	a.leaf = &pair
	return a.leaf, nil
}

// good says whether the leaf is ours, fits our names, and has time left.
func (a *Authority) good(leaf *x509.Certificate) bool {
	if leaf == nil || leaf.CheckSignatureFrom(a.ca) != nil || a.now().Add(renewBefore).After(leaf.NotAfter) {
		return false
	}
	have := slices.Clone(leaf.DNSNames)
	for _, ip := range leaf.IPAddresses {
		have = append(have, ip.String())
	}
	slices.Sort(have)
	return slices.Equal(have, a.names)
}

// make signs template with parent, or with itself, and keeps it beside its key. The
// leaf's file has the authority below it, so that it is a full chain.
func (a *Authority) make(name string, template, parent *x509.Certificate, signer crypto.Signer) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return tls.Certificate{}, err
	}
	chain := []byte(nil)
	if parent == nil {
		parent, signer = template, key
	} else {
		chain = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: parent.Raw})
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return tls.Certificate{}, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return tls.Certificate{}, err
	}
	certPEM := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), chain...)
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	// The key first: a certificate that is there has its key.
	if err := atomicfile.Write(a.path(name+".key"), keyPEM, 0o600); err != nil {
		return tls.Certificate{}, err
	}
	if err := atomicfile.Write(a.path(name+".crt"), certPEM, 0o644); err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(certPEM, keyPEM)
}
