package store

import (
	"errors"
	"log/slog"
	"time"
)

// DefaultLeaseTTL is the time after its last renewal until a master's lease on PostgreSQL expires.
// It allows for three renewals. A restart with the same owner does not wait for it.
const DefaultLeaseTTL = 15 * time.Second

// URL is the address of a PostgreSQL database, postgres://user:password@host/name. Because it
// contains a password, it prints as redacted and cannot be marshaled.
type URL string

const redacted = "‹redacted›"

// String returns a redacted text.
func (u URL) String() string { return redacted }

// GoString returns a redacted text for %#v.
func (u URL) GoString() string { return redacted }

// LogValue returns a redacted value for logs.
func (u URL) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText returns an error, because a password must not be written to documents.
func (u URL) MarshalText() ([]byte, error) {
	return nil, errors.New("cannot marshal a database URL: it may contain a password")
}

// Config configures a store. Exactly one of Path and URL must be set.
type Config struct {
	// Path is the SQLite file. If it is missing, it is created with its directory, readable only by
	// the owner.
	Path string
	// URL is the PostgreSQL database.
	URL URL
	// LeaseTTL defaults to DefaultLeaseTTL.
	LeaseTTL time.Duration
	// ReadOnly opens a store that a master may own, for a backup. Nothing is created, migrated,
	// locked or written.
	ReadOnly bool
	// Log receives messages about migrations and lost or restored connections. It may be nil.
	Log *slog.Logger
}

func (c Config) checkConfig() error {
	switch {
	case c.Path == "" && c.URL == "":
		return errors.New("open store: neither a path nor a database URL is given; set one of them")
	case c.Path != "" && c.URL != "":
		return errors.New("open store: both a path and a database URL are given; set one of them")
	case c.LeaseTTL < 0:
		return errors.New("open store: lease TTL: must not be negative (" + c.LeaseTTL.String() + ")")
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.LeaseTTL == 0 {
		c.LeaseTTL = DefaultLeaseTTL
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}
