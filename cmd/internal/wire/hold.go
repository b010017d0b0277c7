package wire

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/server"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task"
)

// holdDir is where a master on hold keeps its copy of the store, below the data
// directory: where there is room for a store.
const holdDir = "hold"

// runHold answers who this master is, and nothing else, while it tries on a copy
// of the store whether it could serve. It ends with ctx; what lifts the hold is
// the next start, without it.
func runHold(ctx context.Context, cfg config.Master, l net.Listener, b *server.Binaries, sc server.Config) error {
	var state atomic.Pointer[server.Rehearsal]
	state.Store(&server.Rehearsal{})
	sc.Rehearsal = func() server.Rehearsal { return *state.Load() }
	front, err := server.New(sc) //nolint:contextcheck // its handlers get the context of each request
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return front.Run(ctx, l) })
	g.Go(func() error {
		start := time.Now()
		r, err := rehearse(ctx, cfg, b, sc)
		r.Done, r.Took = true, time.Since(start).Milliseconds()
		if err != nil {
			r.Error = err.Error()
			sc.Log.Error("this program cannot run on the store", "err", err)
		} else {
			sc.Log.Info("this program can run on the store", "schema_from", r.SchemaFrom, "schema_to", r.SchemaTo, "tasks", r.Tasks)
		}
		state.Store(&r)
		return nil
	})
	return g.Wait()
}

// rehearse copies the store, brings the copy up to date, and puts a master
// together on it, up to the point where it would begin to act.
func rehearse(ctx context.Context, cfg config.Master, b *server.Binaries, front server.Config) (r server.Rehearsal, err error) {
	if err := forgetRehearsal(cfg); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, forgetRehearsal(cfg)) }()
	sc, err := storeConfig(ctx, cfg, front.Log)
	if err != nil {
		return r, err
	}
	path := filepath.Join(cfg.DataDir, holdDir, databaseFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return r, err
	}
	if r.SchemaFrom, _, err = store.Copy(ctx, sc, path); err != nil {
		return r, err
	}
	s, err := store.Open(ctx, store.Config{Path: path, Log: front.Log})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r.SchemaTo = s.Meta().Schema
	lease, err := s.Acquire(ctx, "rehearsal")
	if err != nil {
		return r, err
	}
	quiet := server.NewRing(ringSize, slog.DiscardHandler)
	m, err := assemble(ctx, cfg, ground{s, lease, quiet, b, front.Certificate})
	if err != nil {
		return r, err
	}
	r.Tasks = len(m.tasks.Commands(task.Filter{}))
	m.logs.Close()
	return r, nil
}

// forgetRehearsal removes the copy, also one that a killed master left behind.
func forgetRehearsal(cfg config.Master) error {
	return os.RemoveAll(filepath.Join(cfg.DataDir, holdDir))
}
