package local

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// certLife is how long a certificate holds. Nobody renews a local one by hand,
// and `up` makes another when less than a month of it is left.
const (
	certLife  = 825 * 24 * time.Hour // the longest that macOS accepts
	certRenew = 30 * 24 * time.Hour
)

// certificates is a CA of the cluster's own and the master's certificate, for
// this machine's addresses. The CA's key is not kept: each renewal makes another.
type certificates struct {
	base
	dir string
	// hosts are the names and addresses that it is for; empty ones are none.
	hosts []string
	// renew is true after Find said so: who serves it has to start again.
	renew bool
}

func (c *certificates) Find(context.Context) (resource.Found, []resource.Drift, error) {
	if !exists(c.dir) {
		return resource.Found{}, nil, nil
	}
	c.renew = false
	until := "unreadable"
	data, err := os.ReadFile(filepath.Join(c.dir, "cert.pem"))
	if block, _ := pem.Decode(data); err == nil && block != nil {
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			until = "until " + cert.NotAfter.Format(time.DateOnly)
			if c.covers(cert) && time.Until(cert.NotAfter) > certRenew && exists(filepath.Join(c.dir, "key.pem")) && exists(filepath.Join(c.dir, "ca.pem")) {
				return found(c.kind, c.dir, ""), nil, nil
			}
		}
	}
	c.renew = true
	return found(c.kind, c.dir, ""), []resource.Drift{{Path: "validity", Have: until, Want: "another month or more, for all addresses, with its key"}}, nil
}

func (c *certificates) covers(cert *x509.Certificate) bool {
	for _, host := range c.hosts {
		if host != "" && cert.VerifyHostname(host) != nil {
			return false
		}
	}
	return true
}

func (c *certificates) Create(ctx context.Context) error {
	files, err := issue(time.Now(), c.hosts)
	if err != nil {
		return err
	}
	for _, name := range []string{"ca.pem", "key.pem", "cert.pem"} {
		if err := c.h.write(ctx, filepath.Join(c.dir, name), files[name]); err != nil {
			return err
		}
	}
	return nil
}

func (c *certificates) Update(ctx context.Context, _ []resource.Drift) error { return c.Create(ctx) }

func (c *certificates) Delete(ctx context.Context) error { return c.h.remove(ctx, c.dir) }

// issue makes a CA and a certificate that it signed.
func issue(now time.Time, hosts []string) (map[string][]byte, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "det-deploy local CA"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certLife),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano() + 1), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else if host != "" {
			leaf.DNSNames = append(leaf.DNSNames, host)
		}
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	caPEM := encode("CERTIFICATE", caDER)
	return map[string][]byte{
		"ca.pem":   caPEM,
		"cert.pem": bytes.Join([][]byte{encode("CERTIFICATE", leafDER), caPEM}, nil),
		"key.pem":  encode("PRIVATE KEY", keyDER),
	}, nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
