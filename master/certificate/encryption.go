package certificate

import (
	"net"
	"strconv"

	"github.com/det-deploy/det-deploy/master/config"
)

// plainHTTPError reports that passwords and tokens would be sent over a network in plain text.
type plainHTTPError struct{ Address string }

func (e *plainHTTPError) Error() string {
	return "refuse to listen on " + e.Address + " without TLS: passwords and tokens would be readable on the network"
}

// Hint names the settings that solve it.
func (*plainHTTPError) Hint() string {
	return "set security.tls: auto, or bind_ip: 127.0.0.1; behind a proxy that encrypts, " +
		"set security.allow_plain_http: true or run with --allow-plain-http"
}

// CheckEncryption returns an error if the master would serve plain HTTP to other machines, unless
// its configuration allows that.
func CheckEncryption(cfg config.Master) error {
	if cfg.Security.TLS.Enabled() || cfg.Security.AllowPlainHTTP {
		return nil
	}
	if ip := net.ParseIP(cfg.BindIP); ip != nil && ip.IsLoopback() {
		return nil
	}
	return &plainHTTPError{Address: net.JoinHostPort(cfg.BindIP, strconv.Itoa(cfg.ListenPort()))}
}
