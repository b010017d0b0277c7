package pki

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"
)

// CheckGiven returns why clients that trust authority would reject a user's certificate, the first in
// chain, for host. Both are PEM.
func CheckGiven(chain, authority []byte, host string, now time.Time) error {
	all := certificates(chain)
	if len(all) == 0 {
		return errors.New("there is no certificate in PEM form")
	}
	leaf := all[0]
	switch {
	case now.After(leaf.NotAfter):
		return fmt.Errorf("it expired on %s", leaf.NotAfter.Format(time.DateOnly))
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("it is valid only from %s", leaf.NotBefore.Format(time.DateOnly))
	case leaf.VerifyHostname(host) != nil:
		return fmt.Errorf("it is not valid for %s, but for %s", host, namesIn(leaf))
	}
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	for _, c := range certificates(authority) {
		roots.AddCert(c)
	}
	for _, c := range all[1:] {
		between.AddCert(c)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now}); err != nil {
		return errors.New("no certificate that clients trust has signed it, directly or by its chain")
	}
	return nil
}

// Expiry returns when the first certificate in a chain expires, or zero if there is none.
func Expiry(chain []byte) time.Time {
	if all := certificates(chain); len(all) > 0 {
		return all[0].NotAfter
	}
	return time.Time{}
}

// Last returns the last certificate in a chain, which is its authority if the chain is complete.
func Last(chain []byte) []byte {
	all := certificates(chain)
	if len(all) == 0 {
		return nil
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: all[len(all)-1].Raw})
}

// namesIn lists the names and addresses for which a certificate is valid.
func namesIn(c *x509.Certificate) string {
	names := c.DNSNames
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return "no name: it has no subject alternative names"
	}
	return strings.Join(names[:min(mostNames, len(names))], ", ")
}

// mostNames is how many names a message has; a certificate may have hundreds.
const mostNames = 10

// certificates parses the certificates in PEM, without those that cannot be read.
func certificates(text []byte) []*x509.Certificate {
	var out []*x509.Certificate
	for b, rest := pem.Decode(bytes.TrimSpace(text)); b != nil; b, rest = pem.Decode(rest) {
		if c, err := x509.ParseCertificate(b.Bytes); err == nil {
			out = append(out, c)
		}
	}
	return out
}
