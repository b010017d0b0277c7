package certificate

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/master/config/security"
)

// secretPair is a certificate and its key, of which at least one is a secret that is
// kept elsewhere. It is read once: the next start reads it again.
type secretPair struct{ pair tls.Certificate }

var _ Source = secretPair{}

// Certificate implements Source.
func (k secretPair) Certificate() (*tls.Certificate, error) { return &k.pair, nil }

// openPair reads the certificate where the configuration says that it is.
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
		"put the certificate with its whole chain, and the key that belongs to it, there again")
	if err != nil {
		return nil, fmt.Errorf("open the master's certificate: %w", err)
	}
	return secretPair{pair}, nil
}

// readPart reads one half of the pair. Both may be in one text: what does not belong to
// the half is passed over.
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
