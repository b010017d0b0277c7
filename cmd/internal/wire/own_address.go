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
	// addressURL answers with the caller's address; it is Amazon's own.
	addressURL = "https://checkip.amazonaws.com"
	// addressLimit is how long it may take: who is behind a proxy says their range.
	addressLimit = 3 * time.Second
)

// OwnAddress asks how this machine is seen from outside, as a range of one.
func OwnAddress(ctx context.Context, s *term.Streams) (string, error) {
	for _, elsewhere := range []string{"AWS_ENDPOINT_URL", "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"} {
		if s.Getenv(elsewhere) != "" {
			return "", fmt.Errorf("the cloud is at %s, which may see this machine otherwise than Amazon does", elsewhere)
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
		return "", fmt.Errorf("ask for this machine's address: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read as far as it counts
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64))
	if err != nil {
		return "", fmt.Errorf("ask for this machine's address: %w", err)
	}
	ip, err := netip.ParseAddr(strings.TrimSpace(string(text)))
	if err != nil {
		return "", fmt.Errorf("ask for this machine's address: %w", err)
	}
	return netip.PrefixFrom(ip, ip.BitLen()).String(), nil
}

// overIPv4 is a client that is seen under an IPv4 address: the master has no other.
func overIPv4() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp4", address)
		},
	}}
}
