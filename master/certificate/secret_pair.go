package certificate

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/master/config/security"
)

// secretPair is a certificate with its key, at least one of them from a secret store. It is read
// once per start of the master.
type secretPair struct{ pair tls.Certificate }

var _ Source = secretPair{}

// Certificate implements Source.
func (k secretPair) Certificate() (*tls.Certificate, error) { return &k.pair, nil }

// openPair opens the configured certificate.
func openPair(ctx context.Context, t security.TLS, from secret.Resolver) (Source, error) {
	if !refersToSecret(t.Cert) && !refersToSecret(t.Key) {
		return NewFiles(t.Cert, t.Key)
	}
	cert, err := readPart(ctx, "cert", t.Cert, from)
	if err != nil {
		return nil, err
	}
	key, err := readPart(ctx, "key", t.Key, from)
	if err != nil {
		return nil, err
	}
	pair, err := parsePair(pemPart{Name: t.Cert, PEM: cert}, pemPart{Name: t.Key, PEM: key},
		"restore the certificate with its full chain, and the matching key")
	if err != nil {
		return nil, fmt.Errorf("open the master's certificate: %w", err)
	}
	return secretPair{pair}, nil
}

// readPart reads the certificate or the key. Both may be in the same text; it skips blocks of the
// other part.
func readPart(ctx context.Context, name, where string, from secret.Resolver) ([]byte, error) {
	if !refersToSecret(where) {
		data, err := os.ReadFile(where)
		if err != nil {
			return nil, fmt.Errorf("security.tls.%s: %w", name, err)
		}
		return data, nil
	}
	ref, err := secret.Parse(where)
	if err != nil {
		return nil, fmt.Errorf("security.tls.%s: %w", name, err)
	}
	v, err := from.Resolve(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("security.tls.%s: %w", name, err)
	}
	return []byte(v.Reveal()), nil
}

func refersToSecret(where string) bool {
	v, err := secret.Parse(where)
	_, ok := v.Ref()
	return ok || err != nil
}
