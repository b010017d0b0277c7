package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/det-deploy/det-deploy/master/store/database"
)

// Store is an open store. It is safe for concurrent use.
type Store struct {
	cfg  Config
	db   *database.Database
	meta Meta
	// compiled holds the prepared queries of the read pool.
	compiled statements

	// gate guards closed. A sender holds it for reading, so that the queue is not closed meanwhile.
	gate   sync.RWMutex
	closed bool
	queue  chan *request // nil when read-only

	// life is the context of the writer and the renewal. It is independent of the calls and ends
	// with Close.
	life    context.Context
	end     context.CancelFunc
	closing chan struct{}
	served  chan struct{}
	loops   sync.WaitGroup
	once    sync.Once
	closeE  error

	counts counts
	// full is set after a write failed on a full disk, until Probe succeeds.
	full atomic.Bool
}

// Meta identifies a store.
type Meta struct {
	// ClusterID is generated when the store is created and never changes. A restored store keeps it.
	ClusterID string
	// CreatedAt is the time at which the store was created.
	CreatedAt time.Time
	// Schema is the schema version.
	Schema int64
}

// Open opens the store. It creates a missing store and migrates an older one to the current schema.
// It returns ErrNewerSchema if the schema is newer, or [database.ErrHeld] if a live master owns the
// store. Writing requires Acquire.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if err := cfg.checkConfig(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	s := &Store{cfg: cfg, closing: make(chan struct{}), served: make(chan struct{})}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	if err := s.openDatabase(); err != nil {
		return nil, err
	}
	if err := s.prepareSchema(ctx); err != nil {
		return nil, errors.Join(s.db.ClassifyError(ctx, err), s.letGo())
	}
	if err := s.db.MarkCreated(); err != nil {
		return nil, errors.Join(err, s.letGo())
	}
	if cfg.ReadOnly {
		close(s.served)
		return s, nil
	}
	s.queue = make(chan *request, queueLength)
	w := &writer{db: s.db, log: cfg.Log, ttl: cfg.LeaseTTL, counts: &s.counts, nextWAL: mostWAL}
	go s.serveRequests(s.life, w) //nolint:contextcheck // the writer lives as long as the store, not as the call that opens it
	return s, nil
}

func (s *Store) openDatabase() (err error) {
	if s.cfg.URL != "" {
		s.db, err = database.OpenPostgres(string(s.cfg.URL), s.cfg.ReadOnly)
	} else {
		s.db, err = database.OpenSQLite(s.cfg.Path, s.cfg.ReadOnly)
	}
	if err != nil {
		s.end()
	}
	return err
}

func (s *Store) prepareSchema(ctx context.Context) (err error) {
	if s.cfg.ReadOnly {
		if s.meta.Schema, err = s.checkSchema(ctx); err != nil {
			return err
		}
	} else if s.meta.Schema, err = s.migrateSchema(ctx); err != nil {
		return err
	}
	if !s.cfg.ReadOnly {
		if err := s.nameCluster(ctx); err != nil {
			return err
		}
	}
	return s.readMeta(ctx)
}

const (
	metaCluster = "cluster_id"
	metaCreated = "created_at"
)

// nameCluster generates the identity of a new store. If two processes do so at once, both use the
// identity of the first.
func (s *Store) nameCluster(ctx context.Context) error {
	for name, value := range map[string]string{
		metaCluster: uuid.NewString(),
		metaCreated: time.Now().UTC().Format(time.RFC3339Nano),
	} {
		_, err := s.db.Write.ExecContext(ctx, s.db.RewriteQuery(
			"INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING"), name, value)
		if err != nil {
			return fmt.Errorf("name the cluster: %w", err)
		}
	}
	return nil
}

func (s *Store) readMeta(ctx context.Context) error {
	values := map[string]string{}
	err := s.queryRows(ctx, "SELECT name, value FROM meta", nil, func(r *sql.Rows) error {
		var name, value string
		err := r.Scan(&name, &value)
		values[name] = value
		return err
	})
	if err != nil {
		return fmt.Errorf("read the store's name: %w", err)
	}
	s.meta.ClusterID = values[metaCluster]
	s.meta.CreatedAt, err = time.Parse(time.RFC3339Nano, values[metaCreated])
	if err != nil {
		return fmt.Errorf("read the store's time of creation: %w", err)
	}
	return nil
}

// Meta returns the identity of the store.
func (s *Store) Meta() Meta { return s.meta }

// Close waits for the accepted writes, releases the lease and closes the database. Further calls
// return the result of the first.
func (s *Store) Close() error {
	s.once.Do(func() { s.closeE = s.closeQueue() })
	return s.closeE
}

// closeQueue queues the release of the lease after the last accepted write and closes the queue, so
// that no later write renews the lease.
func (s *Store) closeQueue() error {
	close(s.closing)
	var err error
	if s.queue != nil {
		last := &request{ctx: s.life, raw: releaseLease, done: make(chan error, 1)}
		s.gate.Lock()
		s.closed = true
		s.queue <- last
		close(s.queue)
		s.gate.Unlock()
		s.loops.Wait()
		err = <-last.done
	}
	<-s.served
	if errors.Is(err, ErrUnavailable) {
		s.cfg.Log.Warn("cannot release the store's lease; it ends by itself", "err", err)
		err = nil
	}
	return errors.Join(err, s.letGo())
}

// letGo releases the resources that Open has acquired so far.
func (s *Store) letGo() error {
	s.end()
	return errors.Join(s.compiled.close(), s.db.Close())
}
