package client

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// ErrFingerprint reports that the master's certificate differs from the pinned one.
var ErrFingerprint = errors.New("the certificate of the master is not the pinned one")

// pinned returns the TLS settings for cfg.
func pinned(cfg Config) (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: cfg.ServerName}
	if len(cfg.CA) > 0 {
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(cfg.CA) {
			return nil, errors.New("the CA bundle contains no PEM certificate")
		}
	}
	if cfg.Fingerprint == "" {
		return t, nil
	}
	want, err := parseFingerprint(cfg.Fingerprint)
	if err != nil {
		return nil, err
	}
	// The pin replaces the verification of chain and name because it is stricter than both.
	t.InsecureSkipVerify = true
	t.VerifyConnection = func(s tls.ConnectionState) error {
		if got := sha256.Sum256(s.PeerCertificates[0].Raw); got != want {
			return fmt.Errorf("%w: got %s, want %s", ErrFingerprint, showFingerprint(got), showFingerprint(want))
		}
		return nil
	}
	return t, nil
}

// Certificate describes a master's certificate before it is trusted.
type Certificate struct {
	// Fingerprint is the SHA-256 of the certificate, formatted for comparison by a user.
	Fingerprint string
	// PEM is the certificate itself.
	PEM []byte
	// Subject is the name in the certificate, and Expires its expiration time.
	Subject string
	Expires time.Time
	// Trusted reports whether a CA of this system has signed it.
	Trusted bool
}

// Peek returns the certificate of the master at address. It does not trust the certificate and
// sends no request.
func Peek(ctx context.Context, address string) (Certificate, error) {
	u, err := ParseURL(address)
	if err != nil {
		return Certificate{}, err
	}
	host := u.Host
	if u.Port() == "" {
		host = net.JoinHostPort(u.Hostname(), "443")
	}
	d := tls.Dialer{Config: &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: u.Hostname(),
		InsecureSkipVerify: true, // nothing is sent: the certificate is shown to the user
	}}
	conn, err := d.DialContext(ctx, "tcp", host)
	if err != nil {
		return Certificate{}, fmt.Errorf("fetch the certificate of %s: %w", u, err)
	}
	defer conn.Close() //nolint:errcheck // nothing was written
	chain := conn.(*tls.Conn).ConnectionState().PeerCertificates
	leaf := chain[0]
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, untrusted := leaf.Verify(x509.VerifyOptions{DNSName: u.Hostname(), Intermediates: between})
	return Certificate{
		Fingerprint: showFingerprint(sha256.Sum256(leaf.Raw)),
		PEM:         pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw}),
		Subject:     leaf.Subject.String(),
		Expires:     leaf.NotAfter,
		Trusted:     untrusted == nil,
	}, nil
}

// parseFingerprint parses 64 hex digits, with or without colons and the prefix "SHA256:".
func parseFingerprint(s string) (sum [sha256.Size]byte, err error) {
	digits := strings.TrimPrefix(strings.ToLower(s), "sha256:")
	raw, err := hex.DecodeString(strings.ReplaceAll(digits, ":", ""))
	if err != nil || len(raw) != sha256.Size {
		return sum, fmt.Errorf("fingerprint %q is not the SHA-256 of a certificate: it takes 64 hex digits, colons are optional", s)
	}
	return [sha256.Size]byte(raw), nil
}

func showFingerprint(sum [sha256.Size]byte) string {
	parts := make([]string, len(sum))
	for i, b := range sum {
		parts[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(parts, ":")
}

// SameFingerprint reports whether two fingerprints are equal regardless of their format.
func SameFingerprint(a, b string) bool {
	x, errX := parseFingerprint(a)
	y, errY := parseFingerprint(b)
	return errX == nil && errY == nil && x == y
}
