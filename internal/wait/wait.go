// Package wait sleeps until a time has passed or a context ends. It imports nothing of
// ours.
package wait

import (
	"context"
	"time"
)

// For returns after d, or with the context's error when that ends sooner.
func For(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
