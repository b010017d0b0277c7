package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/det-deploy/det-deploy/master/store/database"
)

//go:embed migrations/*.sql
var migrations embed.FS

// versions is the table in which goose records migrations.
const versions = "schema_version"

// schemaKnown returns the newest schema version. It is derived from the migration files, so that it
// cannot be out of date.
func schemaKnown() (int64, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return 0, err
	}
	var newest int64
	for _, name := range names {
		v, err := goose.NumericComponent(strings.TrimPrefix(name, "migrations/"))
		if err != nil {
			return 0, fmt.Errorf("read the version of %s: %w", name, err)
		}
		newest = max(newest, v)
	}
	return newest, nil
}

// schemaHave returns the schema version of the store, or 0 for an empty database. It changes
// nothing.
func (s *Store) schemaHave(ctx context.Context) (have int64, err error) {
	var tables int
	db := s.db.Read
	if err := db.QueryRowContext(ctx, s.db.RewriteQuery(s.db.HasTable), versions).Scan(&tables); err != nil {
		return 0, fmt.Errorf("read the schema's version: %w", err)
	}
	if tables == 0 {
		return 0, nil
	}
	err = db.QueryRowContext(ctx, "SELECT COALESCE(MAX(version_id), 0) FROM "+versions).Scan(&have)
	if err != nil {
		return 0, fmt.Errorf("read the schema's version: %w", err)
	}
	return have, nil
}

// checkSchema returns an error if this program cannot read the store without a migration. Older
// stores can be backed up and copied: they only lack tables of later versions.
func (s *Store) checkSchema(ctx context.Context) (int64, error) {
	have, _, err := s.compareSchemas(ctx)
	if err == nil && have == 0 {
		err = errors.New("open store read-only: the database is empty; start the master once to create its tables")
	}
	return have, err
}

func (s *Store) compareSchemas(ctx context.Context) (have, know int64, err error) {
	if know, err = schemaKnown(); err != nil {
		return 0, 0, err
	}
	if have, err = s.schemaHave(ctx); err != nil {
		return 0, 0, err
	}
	if have > know {
		return have, know, &SchemaError{Have: have, Know: know}
	}
	return have, know, nil
}

// migrateSchema migrates the store, each step in a transaction. Before it changes the store of a
// former master, it fences that master: it returns a HeldError if the lease is still valid, and
// prevents an unresponsive master from writing to changed tables.
func (s *Store) migrateSchema(ctx context.Context) (int64, error) {
	have, know, err := s.compareSchemas(ctx)
	if err != nil || have == know {
		return have, err
	}
	if have > 0 {
		if err := s.fenceBeforeMigration(ctx); err != nil {
			return 0, err
		}
	}
	options := []goose.ProviderOption{
		goose.WithTableName(versions), goose.WithDisableGlobalRegistry(true), goose.WithSlog(s.cfg.Log),
	}
	if s.db.Timed {
		// If two masters start on an empty PostgreSQL database, the second waits.
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return 0, fmt.Errorf("migrate the store: %w", err)
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return 0, fmt.Errorf("migrate the store: %w", err)
	}
	p, err := goose.NewProvider(s.db.Goose, s.db.Write, files, options...)
	if err != nil {
		return 0, fmt.Errorf("migrate the store: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return 0, fmt.Errorf("migrate the store from version %d to %d: %w", have, know, err)
	}
	return know, nil
}

func (s *Store) fenceBeforeMigration(ctx context.Context) error {
	var row leaseRow
	query := "UPDATE lease SET epoch = epoch + 1 WHERE id = 1"
	if s.db.Timed {
		query += " AND expires <= " + s.db.Now
	}
	res, err := s.db.Write.ExecContext(ctx, query)
	if err != nil {
		return fmt.Errorf("fence the former master: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return err
	}
	err = s.db.Write.QueryRowContext(ctx, "SELECT owner, host, expires FROM lease WHERE id = 1").
		Scan(&row.owner, &row.host, &row.expires)
	if err != nil {
		return fmt.Errorf("fence the former master: %w", err)
	}
	return &database.HeldError{Store: s.db.Name, Owner: row.owner, Host: row.host, Until: fromMicros(row.expires)}
}
