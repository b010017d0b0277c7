package certificate

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/internal/atomicfile"
	"github.com/det-deploy/det-deploy/internal/pki"
)

// Authority is the master's own CA with one leaf certificate. The leaf is renewed before it expires
// and when it lacks a name; the CA stays.
type Authority struct {
	dir   string
	names []string
	now   func() time.Time

	ca pki.Pair

	mu   sync.Mutex // guards leaf
	leaf *tls.Certificate
}

// OpenAuthority reads the CA in dir, or creates one there. The leaf is valid for names, which are
// host names and addresses, and for localhost.
func OpenAuthority(dir string, names []string, now func() time.Time) (*Authority, error) {
	a := &Authority{dir: dir, now: now, names: append(slices.Clone(names), "localhost", "127.0.0.1", "::1")}
	slices.Sort(a.names)
	a.names = slices.Compact(a.names)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep certificates: %w", err)
	}
	if err := a.openCA(); err != nil {
		return nil, err
	}
	if pair, err := tls.LoadX509KeyPair(a.path("master.crt"), a.path("master.key")); err == nil {
		a.leaf = &pair
	}
	_, err := a.Certificate()
	return a, err
}

func (a *Authority) path(name string) string { return filepath.Join(a.dir, name) }

func (a *Authority) openCA() error {
	// If only a part of the CA is missing or damaged, return an error instead of creating a new
	// one, because clients have pinned the old CA. A key without a certificate is left by an
	// interrupted creation, before any client could pin it.
	if a.absent("ca.crt") && a.absent("master.crt") {
		if err := a.makeCA(); err != nil {
			return fmt.Errorf("create the cluster's CA: %w", err)
		}
	}
	fix := fmt.Sprintf("restore ca.crt and ca.key from a copy of %s, or, without a copy, move that directory away: "+
		"the master then creates a new CA, whose ca.crt must be distributed to all agents and clients", a.dir)
	cert, key, err := readParts(a.path("ca.crt"), a.path("ca.key"), fix)
	if err != nil {
		return fmt.Errorf("open the cluster's CA: %w", err)
	}
	pair, err := parsePair(cert, key, fix)
	if err != nil {
		return fmt.Errorf("open the cluster's CA: %w", err)
	}
	if pair.Leaf == nil || !pair.Leaf.IsCA {
		return &atomicfile.DamagedError{Path: a.path("ca.crt"), Err: errors.New("it is not an authority's certificate"), Fix: fix}
	}
	a.ca = pki.Pair{Certificate: cert.PEM, Key: key.PEM}
	return nil
}

func (a *Authority) absent(name string) bool {
	_, err := os.Stat(a.path(name))
	return errors.Is(err, os.ErrNotExist)
}

func (a *Authority) makeCA() error {
	ca, err := pki.NewAuthority("det-deploy cluster CA", a.now())
	if err != nil {
		return err
	}
	return a.writePair("ca", ca)
}

// Certificate implements Source.
func (a *Authority) Certificate() (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.leaf != nil && pki.Stale(a.leaf.Leaf, a.ca.Certificate, a.names, a.now()) == "" {
		return a.leaf, nil
	}
	made, err := a.ca.NewLeaf("det-deploy master", a.names, a.now())
	if err != nil {
		return nil, fmt.Errorf("make the master's certificate: %w", err)
	}
	if err := a.writePair("master", made); err != nil {
		return nil, fmt.Errorf("keep the master's certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(made.Certificate, made.Key)
	if err != nil {
		return nil, err
	}
	a.leaf = &pair
	return a.leaf, nil
}

// writePair writes the key first, so that a certificate on disk always has its key.
func (a *Authority) writePair(name string, p pki.Pair) error {
	if err := atomicfile.Write(a.path(name+".key"), p.Key, 0o600); err != nil {
		return err
	}
	return atomicfile.Write(a.path(name+".crt"), p.Certificate, 0o644)
}
