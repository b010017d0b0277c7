package resource

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrReadOnly is what a call meets that tries to change something while the
// engine only looks.
var ErrReadOnly = errors.New("nothing may be changed while planning")

// Gate stands before every call that changes something on a platform. A
// platform's narrow client asks it first, once, at its edge; so no resource can
// forget, and looking can be told from acting:
//
//	closed ──Open──▶ open, under a check ──the returned func──▶ closed
//
// It is closed while planning. While applying, the check is the lease's: an
// operator who has lost the lease changes nothing more.
type Gate struct {
	mu    sync.Mutex // guards check
	check func(context.Context) error
}

// Open lets calls pass for which check returns nil, until the returned function
// is called.
func (g *Gate) Open(check func(context.Context) error) (shut func()) {
	g.setCheck(check)
	return func() { g.setCheck(nil) }
}

// Pass returns nil when call may change something now. Call is the platform's
// word for what is about to be done.
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
