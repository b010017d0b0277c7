package master

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/server"
)

// plainHTTPError refuses to send passwords and tokens over a network in the clear.
type plainHTTPError struct{ Address string }

func (e *plainHTTPError) Error() string {
	return "refuse to listen on " + e.Address + " without TLS: passwords and tokens would be readable on the network"
}

// Hint names the ways out.
func (*plainHTTPError) Hint() string {
	return "set security.tls: auto, or bind_ip: 127.0.0.1; behind a proxy that encrypts, " +
		"set security.allow_plain_http: true or run with --allow-plain-http"
}

// checkEncryption refuses a master that would speak plain HTTP to other machines
// unless its configuration allows that.
func checkEncryption(cfg config.Master) error {
	if cfg.Security.TLS.Enabled() || cfg.Security.AllowPlainHTTP {
		return nil
	}
	if ip := net.ParseIP(cfg.BindIP); ip != nil && ip.IsLoopback() {
		return nil
	}
	return &plainHTTPError{Address: net.JoinHostPort(cfg.BindIP, strconv.Itoa(cfg.ListenPort()))}
}

// openCertificate opens the certificate that the master shows to those who connect;
// nil without TLS.
func openCertificate(ctx context.Context, cfg config.Master, secrets secret.Resolver) (server.CertificateSource, error) {
	switch t := cfg.Security.TLS; {
	case !t.Enabled():
		return nil, nil //nolint:nilnil // no certificate is a good answer
	case t.Mode == config.TLSAuto:
		return server.OpenAuthority(filepath.Join(cfg.DataDir, "tls"), ownNames(), time.Now)
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
