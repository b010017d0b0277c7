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

// logEvery is the minimum interval between log messages about a failing watch.
const logEvery = time.Minute

// onWatchError reports a failing watch, repeatedly until it works. Until all watches are synced, no
// decisions are made, so this is the reason why tasks wait.
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

// isOrdinaryEnd reports whether an error is a normal end of a watch.
func isOrdinaryEnd(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}
