package cloud

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
)

// MasterURL resolves the URL at which agents reach the master.
type MasterURL struct {
	// Given is the configured URL; its host may be one of Aliases. If it is empty, the URL consists
	// of Scheme, the machine's private address and Port.
	Given, Scheme string
	Port          int
	// Aliases are host names that resolve to an address of the master's machine. The first one
	// resolves to its private address.
	Aliases []string
	// LookUp resolves an alias through the machine's metadata service.
	LookUp func(ctx context.Context, alias string) (string, error)
	// Unknown returns the error for an address that the metadata service does not know. Fix is the
	// advice for the user.
	Unknown func(what, fix string, err error) error
}

// Resolve returns the URL with aliases replaced by addresses.
func (m MasterURL) Resolve(ctx context.Context) (string, error) {
	if m.Given == "" {
		host, err := m.LookUp(ctx, m.Aliases[0])
		if err != nil {
			return "", m.Unknown("address", "set provider.master_url", err)
		}
		return fmt.Sprintf("%s://%s", m.Scheme, net.JoinHostPort(host, fmt.Sprint(m.Port))), nil
	}
	u, err := url.Parse(m.Given)
	if err != nil || !slices.Contains(m.Aliases, u.Hostname()) {
		return m.Given, err
	}
	host, err := m.LookUp(ctx, u.Hostname())
	if err != nil {
		return "", m.Unknown(u.Hostname(), "set provider.master_url to the address itself", err)
	}
	if p := u.Port(); p != "" {
		host = net.JoinHostPort(host, p)
	}
	u.Host = host
	return u.String(), nil
}
