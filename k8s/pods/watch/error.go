package watch

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

// logEvery is how often the log says that something still cannot be watched.
const logEvery = time.Minute

// onWatchError reports what cannot be watched, again and again until it can. Until all
// has been listed once, nothing can be decided, and that is why tasks wait.
func (w *Watch) onWatchError(what string) cache.WatchErrorHandlerWithContext {
	var mu sync.Mutex
	var last time.Time // guarded by mu
	return func(ctx context.Context, _ *cache.Reflector, err error) {
		if ctx.Err() != nil || isOrdinaryEnd(err) {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		w.cfg.OnError(fmt.Errorf("watch %s: %w", what, err))
		if now := time.Now(); now.Sub(last) >= logEvery {
			last = now
			w.cfg.Log.Warn("the cluster cannot be watched; trying again", "what", what, "namespace", w.cfg.Namespace, "err", err)
		}
	}
}

// isOrdinaryEnd reports whether an error is how every watch ends now and then.
func isOrdinaryEnd(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}
