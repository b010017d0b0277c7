package database

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestPostgresReportsFullDisk(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{"53100": true, "53200": true, "23505": false, "53300": false} {
		if got := postgresFull(fmt.Errorf("put: %w", &pgconn.PgError{Code: code})); got != want {
			t.Errorf("%s: got %v", code, got)
		}
	}
}

func TestAServerThatGoesOrComesIsUnavailable(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{
		"08006": true, "57P01": true, "57P02": true, "57P03": true, "53300": true, "25006": true,
		"23505": false, "40001": false, "53100": false, "57014": false,
	} {
		if got := postgresUnavailable(fmt.Errorf("put: %w", &pgconn.PgError{Code: code})); got != want {
			t.Errorf("%s: got %v", code, got)
		}
	}
}
