package spec

import (
	"crypto/x509"
	"encoding/pem"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/internal/document"
)

// TLS is a certificate provided by the user. It must be valid for every name and address of the
// master, and be signed by CA.
type TLS struct {
	Certificate string       `yaml:"certificate" doc:"Certificate of the master with its chain, PEM"`
	Key         secret.Value `yaml:"key" doc:"Reference to the certificate's private key"`
	CA          string       `yaml:"ca" doc:"CA certificate that agents and clients trust, PEM; by default the last one in certificate"`
	Name        string       `yaml:"name" doc:"Name in the certificate; required with a certificate, because agents reach the master by its address"`
}

// Own reports whether the user provides the certificate.
func (t TLS) Own() bool { return t.Certificate != "" }

// validate checks that the certificate has its key. The key may be in the vault.
func (t TLS) validate(path string, vault secret.Scheme) document.Errors {
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
