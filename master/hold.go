package master

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

	"github.com/det-deploy/det-deploy/master/certificate"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/server"
	"github.com/det-deploy/det-deploy/master/store"
)

// holdDir is the directory, below the data directory, for the copy of the store: a place with room
// for a store.
const holdDir = "hold"

// RunOnHold serves only the master's identity while it rehearses on a copy of the store whether it
// could serve. It returns when ctx ends; the hold ends with the next start without it.
func RunOnHold(ctx context.Context, p Parts) error {
	if err := certificate.CheckEncryption(p.Config); err != nil {
		return err
	}
	d, err := openDeps(ctx, p)
	if err != nil {
		return err
	}
	l, err := listenAll(ctx, p.Config.BindIP, p.Config.ListenPort())
	if err == nil {
		err = d.runOnHold(ctx, l)
	}
	return errors.Join(err, d.closeAll())
}

func (d *deps) runOnHold(ctx context.Context, l net.Listener) error {
	var state atomic.Pointer[server.Rehearsal]
	state.Store(&server.Rehearsal{})
	s, err := server.New(server.Config{
		Identity: d.identity, Certificate: d.certificate, Log: d.log,
		Rehearsal: func() server.Rehearsal { return *state.Load() },
	})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.Run(ctx, l) })
	g.Go(func() error {
		r := d.tryRehearsal(ctx)
		state.Store(&r)
		return nil
	})
	return g.Wait()
}

// tryRehearsal rehearses and logs the result.
func (d *deps) tryRehearsal(ctx context.Context) server.Rehearsal {
	start := time.Now()
	r, err := d.rehearseUpgrade(ctx)
	r.Done, r.Took = true, time.Since(start).Milliseconds()
	if err != nil {
		r.Error = err.Error()
		d.log.Error("this program cannot run on the store", "err", err)
		return r
	}
	d.log.Info("this program can run on the store", "schema_from", r.SchemaFrom, "schema_to", r.SchemaTo, "tasks", r.Tasks)
	return r
}

// Rehearse tests on a copy of the store whether this program could serve it. It does not listen,
// and changes nothing else.
func Rehearse(ctx context.Context, p Parts) (r server.Rehearsal, err error) {
	d, err := openDeps(ctx, p)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, d.closeAll()) }()
	return d.rehearseUpgrade(ctx)
}

// rehearseUpgrade copies the store, migrates the copy, and assembles a master on it, up to the
// point where it would start to act.
func (d *deps) rehearseUpgrade(ctx context.Context) (r server.Rehearsal, err error) {
	if err := removeRehearsal(d.parts.Config); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, removeRehearsal(d.parts.Config)) }()
	sc, err := storeConfig(ctx, d.parts, d.log)
	if err != nil {
		return r, err
	}
	path := filepath.Join(d.parts.Config.DataDir, holdDir, databaseFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return r, err
	}
	if r.SchemaFrom, _, err = store.Copy(ctx, sc, path); err != nil {
		return r, err
	}
	s, err := store.Open(ctx, store.Config{Path: path, Log: d.log})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r.SchemaTo = s.Meta().Schema
	r.Tasks, err = d.assembleOn(ctx, s)
	return r, err
}

// assembleOn assembles a silent master on a copy of the store, and returns its number of tasks.
func (d *deps) assembleOn(ctx context.Context, s *store.Store) (tasks int, err error) {
	lease, err := s.Acquire(ctx, "rehearsal")
	if err != nil {
		return 0, err
	}
	silent := *d
	silent.ring = server.NewRing(ringSize, slog.DiscardHandler)
	silent.log = slog.New(silent.ring)
	silent.useStore(s, lease)
	m, err := assembleMaster(ctx, &silent)
	if err != nil {
		return 0, err
	}
	m.closeLogs()
	return m.tasks.CountCommands(ctx)
}

// removeRehearsal deletes the copy, or the one that a killed master left behind.
func removeRehearsal(cfg config.Master) error {
	return os.RemoveAll(filepath.Join(cfg.DataDir, holdDir))
}
