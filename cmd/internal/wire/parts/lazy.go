package parts

import (
	"context"
	"sync"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/secret"
)

// lazy is opened at its first use. A failed attempt is repeated at the next use, so that a master can
// start while a cloud is unavailable, and makes no calls to a cloud that it does not use.
type lazy[T any] struct {
	open func(ctx context.Context) (T, error)

	mu     sync.Mutex // guards the following fields
	opened bool
	value  T
}

func (l *lazy[T]) get(ctx context.Context) (T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened {
		return l.value, nil
	}
	value, err := l.open(ctx)
	if err == nil {
		l.value, l.opened = value, true
	}
	return value, err
}

// lazyAttestor verifies proofs of a cloud's machines.
type lazyAttestor struct{ lazy[cloud.Attestor] }

// Attest implements cloud.Attestor.
func (a *lazyAttestor) Attest(ctx context.Context, audience string, proof cloud.Proof) (cloud.Attested, error) {
	v, err := a.get(ctx)
	if err != nil {
		return cloud.Attested{}, err
	}
	return v.Attest(ctx, audience, proof)
}

// lazySource reads secrets of a cloud.
type lazySource struct{ lazy[secret.Source] }

// Secret implements secret.Source.
func (s *lazySource) Secret(ctx context.Context, ref secret.Ref) (string, error) {
	source, err := s.get(ctx)
	if err != nil {
		return "", err
	}
	return source.Secret(ctx, ref)
}
