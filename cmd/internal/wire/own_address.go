package wire

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

const (
	// addressURL is a service of Amazon that returns the caller's address.
	addressURL = "https://checkip.amazonaws.com"
	// addressLimit is the timeout of the request. On failure, for example behind a proxy, the user gives
	// the address range.
	addressLimit = 3 * time.Second
)

// OwnAddress returns the public address of this machine, as a range of one address.
func OwnAddress(ctx context.Context, s *term.Streams) (string, error) {
	for _, elsewhere := range []string{"AWS_ENDPOINT_URL", "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"} {
		if s.Getenv(elsewhere) != "" {
			return "", fmt.Errorf("the cloud is at %s, which may see another address of this machine than AWS does", elsewhere)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, addressLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, addressURL, nil)
	if err != nil {
		return "", err
	}
	resp, err := overIPv4().Do(req)
	if err != nil {
		return "", fmt.Errorf("cannot determine this machine's address: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // the response was read as far as needed
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64))
	if err != nil {
		return "", fmt.Errorf("cannot determine this machine's address: %w", err)
	}
	ip, err := netip.ParseAddr(strings.TrimSpace(string(text)))
	if err != nil {
		return "", fmt.Errorf("cannot determine this machine's address: %w", err)
	}
	return netip.PrefixFrom(ip, ip.BitLen()).String(), nil
}

// overIPv4 returns a client that connects over IPv4, because the master has no IPv6 address.
func overIPv4() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp4", address)
		},
	}}
}
