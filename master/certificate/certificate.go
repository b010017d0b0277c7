// Package certificate opens the certificate that a master shows: one of its own
// authority, files that others renew, or secrets. It refuses to do without on a network.
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

// Source gives the certificate of each new connection.
type Source interface {
	Certificate() (*tls.Certificate, error)
}

// Open opens the certificate that the master shows to those who connect;
// nil without TLS.
func Open(ctx context.Context, cfg config.Master, secrets secret.Resolver) (Source, error) {
	switch t := cfg.Security.TLS; {
	case !t.Enabled():
		return nil, nil //nolint:nilnil // no certificate is a good answer
	case t.Mode == security.TLSAuto:
		return OpenAuthority(filepath.Join(cfg.DataDir, "tls"), ownNames(), time.Now)
	default:
		return openPair(ctx, t, secrets)
	}
}

// ownNames are the names and addresses by which others may reach this machine.
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
