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

// masterAuthority is what tasks know the master's certificate by, as PEM: the authority
// beside it, or the certificate itself when it is self-signed. Without
// either it is signed by a public authority.
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
		return nil, fmt.Errorf("read security.tls.cert: %w", err)
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

// masterCertName is the name by which tasks know the master when they reach it by its
// Service, for which a certificate made for users is not: one that it does have. It is
// empty when the certificate is for host, or is not the master's own to show.
func masterCertName(cfg config.Master, host string) (string, error) {
	t := cfg.Security.TLS
	if t.Mode == security.TLSAuto || t.Cert == "" {
		return "", nil
	}
	text, err := os.ReadFile(t.Cert)
	if err != nil {
		return "", fmt.Errorf("read security.tls.cert: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return "", fmt.Errorf("read security.tls.cert: there is no certificate in %s", t.Cert)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return "", fmt.Errorf("read security.tls.cert: %w", err)
	}
	if c.VerifyHostname(host) == nil || len(c.DNSNames) == 0 {
		return "", nil
	}
	// Any name that a wildcard stands for will do: it is compared, not looked up.
	if rest, wild := strings.CutPrefix(c.DNSNames[0], "*."); wild {
		return "master." + rest, nil
	}
	return c.DNSNames[0], nil
}
