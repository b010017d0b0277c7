package spec

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"

	"github.com/det-deploy/det-deploy/document"
)

var errNoMapping = errors.New("must be a mapping of keys to values")

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
