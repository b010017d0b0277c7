package parts

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/security"
)

// masterAuthority returns the PEM certificate with which tasks verify the master: the authority in its
// directory, or the master's certificate if that is self-signed. It returns nil if a public authority
// signed the certificate.
func masterAuthority(cfg config.Master) ([]byte, error) {
	t := cfg.Security.TLS
	dir := filepath.Join(cfg.DataDir, "tls")
	if t.Mode != security.TLSAuto && t.Cert != "" {
		dir = filepath.Dir(t.Cert)
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err == nil || !errors.Is(err, fs.ErrNotExist) || t.Cert == "" {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return ca, err
	}
	text, err := os.ReadFile(t.Cert)
	if err != nil {
		return nil, fmt.Errorf("cannot read security.tls.cert: %w", err)
	}
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil, nil
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err == nil && c.CheckSignatureFrom(c) == nil || err == nil && c.Issuer.String() == c.Subject.String() {
			return pem.EncodeToMemory(block), nil
		}
	}
}

// masterCertName returns a name in the master's certificate for tasks to verify, because tasks connect to
// its Service, for which a certificate for users is not valid. It is empty if the certificate is valid for
// host or is not configured on the master.
func masterCertName(cfg config.Master, host string) (string, error) {
	t := cfg.Security.TLS
	if t.Mode == security.TLSAuto || t.Cert == "" {
		return "", nil
	}
	text, err := os.ReadFile(t.Cert)
	if err != nil {
		return "", fmt.Errorf("cannot read security.tls.cert: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return "", fmt.Errorf("cannot read security.tls.cert: there is no certificate in %s", t.Cert)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return "", fmt.Errorf("cannot read security.tls.cert: %w", err)
	}
	if c.VerifyHostname(host) == nil || len(c.DNSNames) == 0 {
		return "", nil
	}
	// Any name that matches the wildcard works, because it is compared and never resolved.
	if rest, wild := strings.CutPrefix(c.DNSNames[0], "*."); wild {
		return "master." + rest, nil
	}
	return c.DNSNames[0], nil
}
