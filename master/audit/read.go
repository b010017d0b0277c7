package audit

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Query selects entries. Empty filters match all.
type Query struct {
	// User is the name of the acting user.
	User string
	// Action is an action, or a prefix of actions if it ends with a dot.
	Action string
	Since  time.Time
	// After is the number of the last entry that was read.
	After string
	// Follow waits for new entries until ctx ends.
	Follow bool
	// Newest reads the newest entries first, from the entry before Before on if that is not empty. It cannot
	// be combined with After and Follow.
	Newest bool
	Before string
	// Limit is the maximum number of entries; 0 means no limit.
	Limit int
}

func (q Query) matches(e *apiv1.AuditEntry) bool {
	action := q.Action == "" || q.Action == e.GetAction() ||
		(strings.HasSuffix(q.Action, ".") && strings.HasPrefix(e.GetAction(), q.Action))
	return action && (q.User == "" || strings.EqualFold(q.User, e.GetUser()))
}

// pageSize is the number of entries in memory.
const pageSize = 500

// errFull ends a reading that has returned as many entries as requested.
var errFull = errors.New("the limit is reached")

// Read calls send for each entry that matches q, oldest first unless q selects another order.
func (l *Log) Read(ctx context.Context, q Query, send func(*apiv1.AuditEntry) error) error {
	sent := 0
	limited := func(e *apiv1.AuditEntry) error {
		if err := send(e); err != nil {
			return err
		}
		if sent++; sent == q.Limit {
			return errFull
		}
		return nil
	}
	read := l.readOldest
	if q.Newest {
		read = l.readNewest
	}
	if err := read(ctx, q, limited); !errors.Is(err, errFull) {
		return err
	}
	return nil
}

func (l *Log) readNewest(ctx context.Context, q Query, send func(*apiv1.AuditEntry) error) error {
	for before := q.Before; ; {
		docs, err := entries.Ahead(ctx, l.cfg.Store, before, q.Since, pageSize)
		if err != nil {
			return err
		}
		for _, d := range docs {
			before = d.ID
			if e := toAPI(d); q.matches(e) {
				if err := send(e); err != nil {
					return err
				}
			}
		}
		if len(docs) < pageSize {
			return nil
		}
	}
}

func (l *Log) readOldest(ctx context.Context, q Query, send func(*apiv1.AuditEntry) error) error {
	after := q.After
	for {
		l.mu.Lock()
		grown := l.grown // before reading, so that no entry is missed
		l.mu.Unlock()
		docs, err := entries.Behind(ctx, l.cfg.Store, after, q.Since, pageSize)
		if err != nil {
			return err
		}
		for _, d := range docs {
			after = d.ID
			if e := toAPI(d); q.matches(e) {
				if err := send(e); err != nil {
					return err
				}
			}
		}
		if len(docs) == pageSize {
			continue
		}
		if !q.Follow {
			return nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// plainText removes control characters, which could affect a terminal, and truncates the text.
func plainText(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if runes := []rune(s); len(runes) > longestText {
		return string(runes[:longestText]) + "…"
	}
	return s
}
