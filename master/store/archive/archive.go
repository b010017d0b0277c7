// Package archive writes and reads backup files: a header, rows and a checksum. The format is
// independent of the database, so that a backup of one database can be restored into the other.
package archive

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// A backup is a magic line, followed by a gzip stream of
//
//	header   uvarint length, JSON
//	row      byte table (1...), its columns: int as varint, text and bytes as uvarint length, bytes
//	end      byte 0, uvarint number of rows, SHA-256 of everything before it
const (
	magic = "det-deploy backup 1\n"
	// fieldLimit limits one field; a task's context is at most 128 MiB.
	fieldLimit = 1 << 30
)

// ErrDamaged is returned for a file that is truncated, modified or not a backup.
var ErrDamaged = errors.New("the file is damaged or not a backup; nothing was restored; use another backup")

// Header identifies the cluster and the schema of a backup.
type Header struct {
	Schema    int64     `json:"schema"`
	ClusterID string    `json:"cluster_id"`
	CreatedAt time.Time `json:"created_at"`
	MadeAt    time.Time `json:"made_at"`
}

// CheckText returns an error if not every database can store a text: PostgreSQL rejects zero bytes
// and invalid UTF-8, and SQLite would store them but could not be migrated to PostgreSQL.
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
		return fmt.Errorf("%w (%s)", ErrDamaged, what)
	}
	return fmt.Errorf("%w (%s): %w", ErrDamaged, what, err)
}
