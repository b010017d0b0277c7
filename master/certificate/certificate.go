// Package certificate provides the master's certificate: from its own CA, from files that are
// renewed externally, or from secrets. It returns an error for a master without TLS on a network.
package certificate

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/security"
)

// Source returns the certificate for each new connection.
type Source interface {
	Certificate() (*tls.Certificate, error)
}

// Open returns the source of the master's certificate, or nil without TLS.
func Open(ctx context.Context, cfg config.Master, secrets secret.Resolver) (Source, error) {
	switch t := cfg.Security.TLS; {
	case !t.Enabled():
		return nil, nil //nolint:nilnil // nil means no certificate
	case t.Mode == security.TLSAuto:
		return OpenAuthority(filepath.Join(cfg.DataDir, "tls"), ownNames(), time.Now)
	default:
		return openPair(ctx, t, secrets)
	}
}

// ownNames returns the names and addresses by which other machines may reach this one.
func ownNames() []string {
	var names []string
	if host, err := os.Hostname(); err == nil {
		names = append(names, host)
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return names
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLinkLocalUnicast() {
			names = append(names, n.IP.String())
		}
	}
	return names
}
