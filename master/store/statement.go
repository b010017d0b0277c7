package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
)

const (
	// mostStatements limits the number of prepared queries. The package has fewer.
	mostStatements = 100
	// mostPlaces limits the placeholders of a prepared query, because lists of keys have a different
	// query for each length.
	mostPlaces = 10
)

// statements caches prepared queries for the read pool, because SQLite needs more time to compile a
// query than to find a document.
type statements struct {
	mu sync.Mutex // guards of
	of map[string]*sql.Stmt
}

// find returns the prepared query, or nil if the query is not cached.
func (s *statements) find(ctx context.Context, db *sql.DB, query string) (*sql.Stmt, error) {
	s.mu.Lock()
	kept, n := s.of[query], len(s.of)
	s.mu.Unlock()
	if kept != nil || n >= mostStatements || strings.Count(query, "?") > mostPlaces {
		return kept, nil
	}
	made, err := db.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept = s.of[query]; kept != nil {
		return kept, made.Close()
	}
	if s.of == nil {
		s.of = map[string]*sql.Stmt{}
	}
	s.of[query] = made
	return made, nil
}

// close closes the queries. It must be called before the database is closed.
func (s *statements) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, st := range s.of {
		errs = append(errs, st.Close())
	}
	s.of = nil
	return errors.Join(errs...)
}
