package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
)

// noteRow counts a row that a write has added, or is about to delete. A write that fails makes all be counted again.
func (tx *Tx) noteRow(r TaskRow, sign int) {
	if !tx.w.blocks.areCounted() {
		return
	}
	tx.w.blocks.count(r, sign)
	if tx.noted {
		return
	}
	tx.noted = true
	tx.OnEnd(func(err error) {
		if err != nil {
			tx.w.blocks.forget()
		}
	})
}

// countedRow is the row of a task, if blocks have counted it.
func (tx *Tx) countedRow(id string) (r TaskRow, found bool, err error) {
	if !tx.w.blocks.areCounted() {
		return r, false, nil
	}
	err = tx.queryRows(tx.ctx, "SELECT t.name, t.pool, t.submitted, g.user_id, g.workspace, g.username "+
		"FROM task_rows t JOIN task_groups g ON g.id = t.grp WHERE t.id = ?", []any{[]byte(id)}, func(rows *sql.Rows) error {
		var name, pool, username []byte
		err := rows.Scan(&name, &pool, &r.Submitted, &r.UserID, &r.Workspace, &username)
		r.ID, r.Name, r.Pool, r.Username, found = id, string(name), string(pool), string(username), true
		return err
	})
	return r, found, err
}

// startSplitting has the blocks split that are too large, beside the caller.
func (s *Store) startSplitting() {
	s.gate.RLock() // so that Close cannot wait for the loops meanwhile
	defer s.gate.RUnlock()
	if !s.closed {
		s.loops.Go(s.splitBlocks)
	}
}

// splitBlocks splits one block after the other, each between two transactions: what the writer
// sees then is what it has counted. Other writes wait for two milliseconds at most.
func (s *Store) splitBlocks() {
	for more := true; more; {
		err := s.enqueueRequest(s.life, &request{ctx: s.life, raw: func(ctx context.Context, w *writer) (err error) {
			ctx, cancel := w.limitCommit(ctx) // a server that hangs must not keep other writes for longer
			defer cancel()
			more, err = s.blocks.splitOne(ctx, writerReader{w})
			return err
		}})
		if err != nil {
			s.blocks.giveUp()
			if !errors.Is(err, ErrClosed) {
				s.cfg.Log.Warn("cannot count the listed tasks in blocks; pages of the middle of many take longer", "err", err)
			}
			return
		}
	}
}

// giveUp has splitting begin again when a page is asked for next.
func (t *taskBlocks) giveUp() {
	t.forget()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.splitting = false
}

// splitOne takes the first rows of one block off it. No more says that none is too large.
func (t *taskBlocks) splitOne(ctx context.Context, r Reader) (more bool, err error) {
	s, i := t.nextToSplit()
	if s == nil {
		return false, nil
	}
	if i < 0 {
		all, err := TaskGroups(ctx, r)
		if err == nil {
			t.mu.Lock()
			defer t.mu.Unlock()
			s.countAll(all)
		}
		return true, err
	}
	whole := s.list[i] // only the writer changes it, in this goroutine
	next, found, err := s.placeBehind(ctx, r, whole.from, t.rows)
	if err != nil || !found {
		return false, errors.Join(err, errors.New("fewer tasks are listed than were counted"))
	}
	first := block{from: whole.from, rows: t.rows, wanted: t.rows}
	if s.groups != nil && !s.indexed {
		if first.wanted, err = s.countBetween(ctx, r, whole.from, next); err != nil {
			return false, err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s.list[i] = first
	s.list = slices.Insert(s.list, i+1, block{from: next, rows: whole.rows - first.rows, wanted: whole.wanted - first.wanted})
	return true, nil
}

// nextToSplit is a block that is too large, of the set that was asked for last; one that is not counted yet has
// none.
func (t *taskBlocks) nextToSplit() (s *blockSet, i int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, other := range t.sets {
		if !other.isSplit(t.rows) && (s == nil || other.asked > s.asked) {
			s = other
		}
	}
	if s == nil {
		t.splitting = false
		return nil, -1
	}
	return s, s.largest(t.rows)
}

// placeBehind is the place of the row that so many rows are before, counted from a place on.
func (s *blockSet) placeBehind(ctx context.Context, r Reader, from rowPlace, n int) (at rowPlace, found bool, err error) {
	where, args := s.order.fromPlace(from)
	if s.indexed && s.groups != nil {
		where += " AND grp IN (" + s.text + ")"
	}
	names := s.order.columnText("")
	err = r.queryRows(ctx, "SELECT "+names+" FROM task_rows WHERE "+where+" ORDER BY "+names+" LIMIT 1 OFFSET ?", append(args, n), func(rows *sql.Rows) error {
		var text, id []byte
		var into []any
		for _, c := range s.order.columns() {
			switch c {
			case "submitted":
				into = append(into, &at.submitted)
			case "id":
				into = append(into, &id)
			default:
				into = append(into, &text)
			}
		}
		err := rows.Scan(into...)
		at.text, at.id, found = string(text), string(id), true
		return err
	})
	return at, found, err
}

// countBetween counts the wanted rows from one place to another.
func (s *blockSet) countBetween(ctx context.Context, r Reader, from, to rowPlace) (n int, err error) {
	where, args := s.order.fromPlace(from)
	names, values := s.order.comparison(to)
	err = r.queryRows(ctx, "SELECT COUNT(*) FROM task_rows WHERE "+where+" AND "+names+" < "+valueRows(1, len(values))+" AND grp + 0 IN ("+s.text+")",
		append(args, values...), func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n, err
}

// fromPlace is the rows from a place on.
func (o TaskOrder) fromPlace(from rowPlace) (where string, args []any) {
	names, args := o.comparison(from)
	return names + " >= " + valueRows(1, len(args)), args
}

// comparison is the columns of an order, and a place's values.
func (o TaskOrder) comparison(at rowPlace) (names string, values []any) {
	for _, c := range o.columns() {
		switch c {
		case "submitted":
			values = append(values, at.submitted)
		case "id":
			values = append(values, []byte(at.id))
		default:
			values = append(values, []byte(at.text))
		}
	}
	return "(" + o.columnText("") + ")", values
}

// writerReader reads on the connection that writes, outside of a transaction. No query is kept: their
// groups make them many.
type writerReader struct{ w *writer }

func (r writerReader) queryRows(ctx context.Context, query string, args []any, scan func(*sql.Rows) error) error {
	rows, err := r.w.conn.QueryContext(ctx, r.w.db.RewriteQuery(query), args...)
	if err != nil {
		return err
	}
	return scanAll(rows, scan)
}
