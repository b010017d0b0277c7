package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
)

const (
	// mostStatements bounds the queries that are kept compiled: more than the package has.
	mostStatements = 100
	// mostPlaces is how many values a query names that is kept: lists of keys have one text for each length.
	mostPlaces = 10
)

// statements keeps queries compiled for the read pool: SQLite takes longer to compile one than to
// find a document.
type statements struct {
	mu sync.Mutex // guards of
	of map[string]*sql.Stmt
}

// find is nil for a query that is not kept.
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

// close must come before that of the database.
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
