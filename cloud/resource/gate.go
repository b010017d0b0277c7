package resource

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrReadOnly is returned by calls that would modify the platform while the gate is closed.
var ErrReadOnly = errors.New("changes are not allowed during planning")

// Gate guards all calls that modify a platform. The platform's API client calls Pass before each of
// them, in one place, so that no resource can bypass it. It separates reading from changing:
//
//	closed ──Open──▶ open, under a check ──the returned func──▶ closed
//
// It is closed during planning. During an apply, the check verifies the lease: an operator who has
// lost it makes no further changes.
type Gate struct {
	mu    sync.Mutex // guards check
	check func(context.Context) error
}

// Open admits calls while check returns nil, until the returned function is called.
func (g *Gate) Open(check func(context.Context) error) (shut func()) {
	g.setCheck(check)
	return func() { g.setCheck(nil) }
}

// Pass returns nil if call may modify the platform now, and ErrReadOnly or the error of the check
// otherwise. Call is the platform's name of the API call.
func (g *Gate) Pass(ctx context.Context, call string) error {
	g.mu.Lock()
	check := g.check
	g.mu.Unlock()
	if check == nil {
		return fmt.Errorf("%s: %w", call, ErrReadOnly)
	}
	if err := check(ctx); err != nil {
		return fmt.Errorf("%s: %w", call, err)
	}
	return nil
}

func (g *Gate) setCheck(check func(context.Context) error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.check = check
}
