package pods

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
)

// complainEvery is how often the log says that something still cannot be watched.
const complainEvery = time.Minute

// unseen is told that something cannot be watched, over and over until it can. Before
// all has been seen once, nothing can be decided, and that is why tasks wait.
func (r *RM) unseen(what string) cache.WatchErrorHandlerWithContext {
	var mu sync.Mutex
	var last time.Time // guarded by mu
	return func(ctx context.Context, _ *cache.Reflector, err error) {
		if ctx.Err() != nil || ordinary(err) {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		r.blind(fmt.Errorf("watch %s: %w", what, err))
		if now := time.Now(); now.Sub(last) >= complainEvery {
			last = now
			r.cfg.Log.Warn("the cluster cannot be watched; trying again", "what", what, "namespace", r.cfg.Namespace, "err", err)
		}
	}
}

// ordinary are the ends of watches that belong to their life.
func ordinary(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

// blind notes why the cluster is not known yet.
func (r *RM) blind(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unknown = fmt.Sprintf("the master does not know yet what is in Kubernetes: %v", err)
}
