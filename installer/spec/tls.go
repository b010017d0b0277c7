package spec

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/internal/pki"
)

// TLS is a certificate provided by the user. It must be valid for every name and address of the
// master, and be signed by CA.
type TLS struct {
	Certificate string       `yaml:"certificate" doc:"Certificate of the master with its chain, PEM"`
	Key         secret.Value `yaml:"key" doc:"Reference to the certificate's private key"`
	CA          string       `yaml:"ca" doc:"CA certificate that agents and clients trust, PEM; by default the last one in certificate"`
	Name        string       `yaml:"name" doc:"Name in the certificate; required with a certificate, because agents reach the master by its address"`
}

// Authority returns the certificate, in PEM, that agents and clients trust.
func (t TLS) Authority() []byte {
	if t.CA != "" {
		return []byte(t.CA)
	}
	return pki.Last([]byte(t.Certificate))
}

// renewIn is how long before its expiry a certificate is reported.
const renewIn = 30 * 24 * time.Hour

// CheckUse returns why the master could not use the certificate with key, or why its clients and agents
// would reject it. A key that cannot be read here is empty and is not checked.
func (t TLS) CheckUse(key []byte, now time.Time) error {
	if err := pki.CheckGiven([]byte(t.Certificate), t.Authority(), t.Name, now); err != nil || len(key) == 0 {
		return err
	}
	if _, _, err := (pki.Pair{Certificate: []byte(t.Certificate), Key: key}).Open(); err != nil {
		return errors.New("the given key is not its private key, in PEM form and without a passphrase")
	}
	return nil
}

// Expiry returns the day on which the certificate expires, and whether that is soon.
func (t TLS) Expiry(now time.Time) (day string, soon bool) {
	end := pki.Expiry([]byte(t.Certificate))
	return end.Format(time.DateOnly), end.Sub(now) < renewIn
}

// Own reports whether the user provides the certificate.
func (t TLS) Own() bool { return t.Certificate != "" }

// Validate checks that the certificate has its key. The key may be in the vault, if there is one.
func (t TLS) Validate(path string, vault secret.Scheme) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	requireReference(&e, at("key"), t.Key, vault)
	if !t.Own() {
		e.Check(t.Key.IsZero() && t.CA == "" && t.Name == "", at("certificate"), "is required with key, ca or name")
		return e
	}
	e.Check(!t.Key.IsZero(), at("key"), "is required with a certificate")
	e.Check(t.Name != "", at("name"), "is required with a certificate")
	checkPEM(&e, at("certificate"), t.Certificate)
	if t.CA != "" {
		checkPEM(&e, at("ca"), t.CA)
	}
	return e
}

func checkPEM(e *document.Errors, path, text string) {
	rest, n := []byte(text), 0
	for {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			break
		}
		n++
		if b.Type != "CERTIFICATE" {
			e.Add(path, "must have certificates only (has a %s)", strings.ToLower(b.Type))
			return
		}
		if _, err := x509.ParseCertificate(b.Bytes); err != nil {
			e.Add(path, "has a certificate that cannot be read: %v", err)
			return
		}
	}
	e.Check(n > 0, path, "must be one or more certificates in PEM form")
}
