package podinit

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// source is the location of a task's context directory.
type source struct {
	client   *http.Client
	log      *slog.Logger
	order    Order
	token    string
	patience time.Duration
}

// Delays between attempts: short at first, for a Service that is not routed yet, then long enough
// that a gang of a thousand pods does not overload a master that has just started.
const (
	firstPause = 250 * time.Millisecond
	lastPause  = 10 * time.Second
	// stall is the timeout for the master's response headers.
	stall = time.Minute
)

func newSource(c Config, o Order) (*source, error) {
	s := &source{log: c.Log, order: o, patience: c.Patience}
	if s.patience == 0 {
		s.patience = DefaultPatience
	}
	token, err := os.ReadFile(filepath.Join(c.OrderDir, keyToken))
	if err != nil {
		return nil, fmt.Errorf("read the token of the allocation: %w", err)
	}
	s.token = string(token)
	trust := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: o.CertName, InsecureSkipVerify: o.NoVerify}
	pem, err := os.ReadFile(filepath.Join(c.OrderDir, keyCA))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the CA of the master's certificate: %w", err)
	}
	if len(pem) > 0 {
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("read the CA of the master's certificate: it contains no certificate")
		}
	}
	s.client = &http.Client{Transport: &http.Transport{
		TLSClientConfig: trust, ResponseHeaderTimeout: stall, Proxy: http.ProxyFromEnvironment,
	}}
	return s, nil
}

// final is an error that would occur again.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// fetchFiles retries until the directory is complete. The next attempt overwrites the files of an
// interrupted one.
func (s *source) fetchFiles(ctx context.Context, into *os.Root) error {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	pause := firstPause
	var last error
	for {
		err := s.fetchOnce(ctx, into)
		if err == nil {
			return nil
		}
		if f, is := errors.AsType[final](err); is {
			return f.error
		}
		if ctx.Err() == nil {
			last = err
			s.log.Warn("cannot fetch the context directory; retrying", "master", s.order.Master, "err", err)
		}
		if err := wait.For(ctx, pause); err != nil {
			if errors.Is(err, context.DeadlineExceeded) && last != nil {
				return fmt.Errorf("the master at %s did not answer for %v: %w", s.order.Master, s.patience, last)
			}
			return err
		}
		pause = min(pause*2, lastPause)
	}
}

func (s *source) fetchOnce(ctx context.Context, into *os.Root) error {
	address := s.order.Master + "/api/v1/tasks/" + url.PathEscape(s.order.Task) + "/context_directory"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return final{err}
	}
	req.Header.Set("Grpc-Metadata-x-allocation-token", "Bearer "+s.token)
	resp, err := s.client.Do(req)
	if err != nil {
		if _, is := errors.AsType[*tls.CertificateVerificationError](err); is {
			return final{fmt.Errorf("this pod does not trust the master's certificate: %w", err)}
		}
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return readRefusal(resp)
	}
	packed, err := agentv1.ContextArchive(resp.Body)
	if errors.Is(err, agentv1.ErrNoArchive) {
		return final{err}
	}
	if err != nil || packed == nil {
		return err
	}
	work, err := workDir(into, s.order.Context)
	if err != nil {
		return final{err}
	}
	defer func() { _ = work.Close() }() // nothing was written through it
	u := unpacker{root: work, uid: s.order.UID, gid: s.order.GID}
	return u.unpackArchive(packed)
}

// workDir opens the directory of the volume for the user's files as a separate root: chained links
// in an archive, each of which stays inside, could otherwise lead to the cluster's files next to
// it.
func workDir(volume *os.Root, name string) (*os.Root, error) {
	if err := volume.MkdirAll(name, 0o755); err != nil {
		return nil, err
	}
	return volume.OpenRoot(name)
}

// readRefusal converts a response without files to an error. Errors of a server that is starting or
// overloaded are retried.
func readRefusal(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, 500))
	err = errors.Join(fmt.Errorf("the master answers %s: %s", resp.Status, strings.TrimSpace(string(body))), err)
	if resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented || resp.StatusCode == http.StatusTooManyRequests {
		return err
	}
	return final{err}
}
