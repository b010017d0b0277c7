package parts

import (
	"context"
	"sync"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/secret"
)

// lazy is opened at its first use, and after a failure at the next one: a master starts
// while a cloud is out of order, and one that has no use for a cloud asks none.
type lazy[T any] struct {
	open func(ctx context.Context) (T, error)

	mu     sync.Mutex // guards what follows
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

// lazyAttestor checks proofs of a cloud's machines.
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
