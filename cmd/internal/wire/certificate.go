package wire

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/server"
)

// certificate is what the master shows to those who connect; nil without TLS.
func certificate(ctx context.Context, cfg config.Master) (server.CertificateSource, error) {
	switch t := cfg.Security.TLS; {
	case !t.Enabled():
		return nil, nil //nolint:nilnil // no certificate is a good answer
	case t.Mode == config.TLSAuto:
		return server.OpenAuthority(filepath.Join(cfg.DataDir, "tls"), ownNames(), time.Now)
	default:
		return readPair(ctx, t, resolver())
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
