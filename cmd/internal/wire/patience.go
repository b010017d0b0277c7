package wire

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/det-deploy/det-deploy/master/store"
)

const (
	// patience is how long a master that starts waits for a database that does not
	// answer: one that the same chart starts beside it has an image to be pulled.
	patience = 2 * time.Minute
	// lookAgain is how often it tries.
	lookAgain = time.Second
)

// openPatiently opens a store whose server may be starting too.
func openPatiently(ctx context.Context, sc store.Config, log *slog.Logger) (*store.Store, error) {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for told := false; ; told = true {
		s, err := store.Open(ctx, sc)
		if !errors.Is(err, store.ErrUnavailable) {
			return s, err
		}
		if !told {
			log.Warn("wait for the database", "err", err)
		}
		select {
		case <-again.C:
		case <-limit.C:
			return nil, err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
