package store

import (
	"errors"
	"log/slog"
	"time"
)

// DefaultLeaseTTL is how long a master on PostgreSQL may be silent before another
// one may take over. Three renewals fit into it; a restart under the same owner
// does not wait for it.
const DefaultLeaseTTL = 15 * time.Second

// URL is the address of a PostgreSQL database, postgres://user:password@host/name.
// It holds a password, so it prints redacted and refuses to be marshalled.
type URL string

const redacted = "‹redacted›"

// String hides the address.
func (u URL) String() string { return redacted }

// GoString hides the address from %#v.
func (u URL) GoString() string { return redacted }

// LogValue hides the address from logs.
func (u URL) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText refuses: an address with a password is not written into documents.
func (u URL) MarshalText() ([]byte, error) {
	return nil, errors.New("refuse to marshal a database address: it may hold a password")
}

// Config says where the store is. Exactly one of Path and URL is set.
type Config struct {
	// Path is the SQLite file. It is created, with its directory, when missing,
	// readable by its owner only.
	Path string
	// URL is the PostgreSQL database.
	URL URL
	// LeaseTTL is DefaultLeaseTTL when zero.
	LeaseTTL time.Duration
	// ReadOnly opens a store beside the master that owns it, for a backup: nothing
	// is created, migrated, locked or written.
	ReadOnly bool
	// Log receives what the store does on its own: migrations, lost and regained
	// connections. Nil discards.
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
