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

// Well asks a master on this machine whether it is well, trusting only the
// certificates that the manifest names. Root is put before their path.
func Well(ctx context.Context, root string, h manifest.Health) error {
	// A master that takes longer than this to say that it is well is not.
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	transport := &http.Transport{Proxy: nil, DisableKeepAlives: true}
	if h.CA != "" {
		pem, err := os.ReadFile(filepath.Join(root, h.CA))
		if err != nil {
			return fmt.Errorf("ask the master whether it is well: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return fmt.Errorf("ask the master whether it is well: %s holds no certificate", h.CA)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, ServerName: h.Name, MinVersion: tls.VersionTLS12}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.URL, nil)
	if err != nil {
		return fmt.Errorf("ask the master whether it is well: %w", err)
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return fmt.Errorf("ask the master whether it is well: %w", err)
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
		return fmt.Errorf("ask the master whether it is well: it says: %s", answer.Reason)
	}
	return fmt.Errorf("ask the master whether it is well: %s answers %s", h.URL, resp.Status)
}

// DownError is a master's own word that it cannot work: waiting is of no use.
type DownError struct{ Reason string }

// Error is the master's reason.
func (e *DownError) Error() string { return "the master says that it cannot work: " + e.Reason }
