package cloud

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
)

// MasterURL is a master's URL as agents reach it.
type MasterURL struct {
	// Given is what was configured; its host may be one of Aliases. Without one it is
	// the machine's own address, by the scheme and port that the master listens on.
	Given, Scheme string
	Port          int
	// Aliases are the host names that stand for an address of the master's machine; the
	// first is its own address in its network.
	Aliases []string
	// LookUp asks the machine for what an alias stands for.
	LookUp func(ctx context.Context, alias string) (string, error)
	// Unknown is the refusal where the machine does not know what. Fix is what the user
	// may do instead.
	Unknown func(what, fix string, err error) error
}

// Resolve returns the URL without aliases.
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
		return "", m.Unknown(u.Hostname(), "write the address itself into provider.master_url", err)
	}
	if p := u.Port(); p != "" {
		host = net.JoinHostPort(host, p)
	}
	u.Host = host
	return u.String(), nil
}
