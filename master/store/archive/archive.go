// Package archive writes and reads the file of a backup: a header, rows and a sum. Nothing
// in it is a database's own, so either restores what the other wrote.
package archive

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// A backup is a line that says so, and a gzip stream of
//
//	header   uvarint length, JSON
//	row      byte table (1...), its columns: int as varint, text and bytes as uvarint length, bytes
//	end      byte 0, uvarint number of rows, SHA-256 of all before it
const (
	magic = "det-deploy backup 1\n"
	// fieldLimit bounds one document; a task's context is at most 128 MiB.
	fieldLimit = 1 << 30
)

// ErrDamaged is returned for a backup that is cut off, changed or none at all.
var ErrDamaged = errors.New("the backup is damaged or not a backup; nothing was restored, use another one")

// Header says whose backup it is, and of which schema.
type Header struct {
	Schema    int64     `json:"schema"`
	ClusterID string    `json:"cluster_id"`
	CreatedAt time.Time `json:"created_at"`
	MadeAt    time.Time `json:"made_at"`
}

// CheckText refuses a text that not every database keeps: PostgreSQL refuses a zero byte
// and broken UTF-8, SQLite would keep them and never move to PostgreSQL.
func CheckText(name, text string) error {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return fmt.Errorf("%s: must be UTF-8 without a zero byte (%q)", name, text)
	}
	return nil
}

func damagedError(err error, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if errors.Is(err, ErrDamaged) {
		return err
	}
	if err == nil {
		return fmt.Errorf("%w (it holds %s)", ErrDamaged, what)
	}
	return fmt.Errorf("%w (it holds %s): %w", ErrDamaged, what, err)
}
