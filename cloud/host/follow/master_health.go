package follow

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
)

// Well checks the health of the master on this machine. It trusts only the certificates named in
// the manifest. Root is prepended to their path.
func Well(ctx context.Context, root string, h manifest.Health) error {
	// A master that takes longer to respond counts as unhealthy.
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	transport := &http.Transport{Proxy: nil, DisableKeepAlives: true}
	if h.CA != "" {
		pem, err := os.ReadFile(filepath.Join(root, h.CA))
		if err != nil {
			return fmt.Errorf("check the master's health: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return fmt.Errorf("check the master's health: %s contains no certificate", h.CA)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, ServerName: h.Name, MinVersion: tls.VersionTLS12}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.URL, nil)
	if err != nil {
		return fmt.Errorf("check the master's health: %w", err)
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return fmt.Errorf("check the master's health: %w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // it was only read
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	var answer struct{ Status, Reason string }
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err == nil && json.Unmarshal(body, &answer) == nil && answer.Reason != "" {
		if answer.Status == "down" {
			return &DownError{answer.Reason}
		}
		return fmt.Errorf("check the master's health: it reports: %s", answer.Reason)
	}
	return fmt.Errorf("check the master's health: %s returned %s", h.URL, resp.Status)
}

// DownError is a permanent failure reported by the master itself. Waiting does not help.
type DownError struct{ Reason string }

// Error returns the master's reason.
func (e *DownError) Error() string { return "the master reports a permanent failure: " + e.Reason }
