package history

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	_ "modernc.org/sqlite" // bulk data is inserted with SQL statements
)

var million = flag.Bool("million", false, "measure 1,000,000 ended tasks, too")

const (
	// mostOfStart and mostOfTasks limit the time and the memory of a start for any number of ended
	// tasks.
	mostOfStart       = time.Second
	mostOfTasks int64 = 100_000_000
	// mostOfPage and mostOfQueue limit a page of a list and of the queue, and mostOfAll the list of
	// all queued tasks.
	mostOfPage  = 20 * time.Millisecond
	mostOfQueue = 10 * time.Millisecond
	mostOfAll   = 50 * time.Millisecond
)

// taskPages returns the measured pages of a list of n tasks.
func taskPages(n int) []page {
	const list = "commands?limit=20"
	middle := fmt.Sprintf("%s&offset=%d", list, n/2)
	all := []page{
		{"the first 20", list, false},
		{"20 of a user", list + "&users=admin", false},
		{"the last 20", fmt.Sprintf("%s&offset=%d", list, n-20), false},
		{"20 of the middle", middle, true},
		{"20 of the middle of a user", middle + "&users=admin", true},
		{"20 of the middle from the last on", middle + "&orderBy=ORDER_BY_DESC&sortBy=SORT_BY_START_TIME", true},
	}
	for _, by := range []string{"ID", "DESCRIPTION", "START_TIME", "WORKSPACE_ID", "USERNAME", "RESOURCE_POOL"} {
		all = append(all,
			page{"the first 20 by " + by, list + "&orderBy=ORDER_BY_DESC&sortBy=SORT_BY_" + by, false},
			page{"20 of the middle by " + by, middle + "&sortBy=SORT_BY_" + by, true})
	}
	return all
}

// BenchmarkEndedTasks measures a master with the given number of ended tasks. It reports each
// exceeded limit, and fails if a page costs more than twice as much with ten times the tasks.
func BenchmarkEndedTasks(b *testing.B) {
	sizes := []int{10_000, 100_000}
	if *million {
		sizes = append(sizes, 1_000_000)
	}
	costs := map[string]time.Duration{}
	for _, n := range sizes {
		b.Run(fmt.Sprintf("%d_ended", n), func(b *testing.B) {
			m := openTasks(b, n, true)
			b.Run("start", m.startTasks)
			for _, p := range taskPages(n) {
				b.Run(p.name, func(b *testing.B) { m.readWithin(b, p, mostOfPage, costs, n) })
			}
		})
	}
}

// BenchmarkWaitingTasks does the same with queued tasks.
func BenchmarkWaitingTasks(b *testing.B) {
	costs := map[string]time.Duration{}
	for _, n := range []int{4_000, 40_000} {
		b.Run(fmt.Sprintf("%d_waiting", n), func(b *testing.B) {
			m := openTasks(b, n, false)
			b.Run("start", m.startTasks)
			for _, p := range []struct {
				page
				most time.Duration
			}{
				{page{"the first 20", "commands?limit=20", false}, mostOfPage},
				{page{"20 of the middle by pool", fmt.Sprintf("commands?limit=20&offset=%d&sortBy=SORT_BY_RESOURCE_POOL", n/2), true}, mostOfPage},
				{page{"20 of the queue", "job-queues-v2?limit=20&resourcePool=default", false}, mostOfQueue},
				{page{"20 of the middle of the queue", fmt.Sprintf("job-queues-v2?limit=20&offset=%d", n/2), false}, mostOfQueue},
				{page{"pools", "resource-pools", true}, mostOfQueue},
				{page{"all tasks", "tasks", true}, mostOfAll},
			} {
				b.Run(p.name, func(b *testing.B) { m.readWithin(b, p.page, p.most, costs, n) })
			}
		})
	}
}

// readWithin reads a page and compares its cost with the limit and with the cost at a tenth of the
// tasks.
func (m *measured) readWithin(b *testing.B, p page, most time.Duration, costs map[string]time.Duration, n int) {
	b.Helper()
	cost := m.read(b, p.path)
	if before := costs[fmt.Sprint(n/10, p.name)]; before > 0 && !p.whole && cost > 2*before+noise {
		b.Errorf("grows faster than its work: %v, and %v with a tenth of the tasks", cost, before)
	}
	if cost > most {
		b.Logf("%s of %d: not kept: took %v; want at most %v", p.name, n, cost, most)
	}
	costs[fmt.Sprint(n, p.name)] = cost
}

// startTasks reports figures of the master's single start.
func (m *measured) startTasks(b *testing.B) {
	for b.Loop() {
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(m.ready.Milliseconds()), "ready-ms")
	b.ReportMetric(float64(m.processor.Milliseconds()), "processor-ms")
	b.ReportMetric(float64(m.memory)/1e6, "MB-of-history")
	if m.memory > mostOfTasks || m.processor > mostOfStart {
		b.Logf("a start: not kept: %d MB and %v of processor time; want at most %d MB and %v", m.memory/1_000_000, m.processor, mostOfTasks/1_000_000, mostOfStart)
	}
}

// openTasks kills a master that has one task, multiplies this task in its store, and starts it
// again.
func openTasks(b *testing.B, n int, ended bool) *measured {
	b.Helper()
	m, bin := startMaster(b)
	alone := restingMemory(b, m)
	config := map[string]any{"entrypoint": []string{"sleep", "3600"}, "resources": map[string]any{"slots": 0}}
	var launched struct{ Command struct{ ID string } }
	if err := m.Ask(b.Context(), http.MethodPost, "commands", map[string]any{"config": config}, &launched); err != nil {
		b.Fatal(err)
	}
	if ended {
		if err := m.Ask(b.Context(), http.MethodPost, "commands/"+launched.Command.ID+"/kill", nil, nil); err != nil {
			b.Fatal(err)
		}
	}
	ready, err := m.Restart(b.Context(), bin, "", func(database string) error {
		return multiply(b.Context(), database, launched.Command.ID, n, ended)
	})
	if err != nil {
		b.Fatal(err)
	}
	took := m.Processor() // before the memory is read, which costs some as well
	return &measured{Master: m, ready: ready, processor: took, memory: restingMemory(b, m) - alone}
}

// multiply copies a task n times, as if the master had stored the copies one second apart. The
// orders of the names and of the IDs differ from each other.
func multiply(ctx context.Context, database, id string, n int, ended bool) error {
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: database, RawQuery: "_pragma=synchronous(OFF)&_pragma=cache_size(-200000)"}).String())
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // the statements have been answered
	const (
		numbers = "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < ?1) "
		newID   = "printf('%08x-%04x-4000-8000-%012x', (i * 2654435761) % 4294967296, i % 65536, i)"
	)
	at := "0"
	if ended {
		at = "1 + CAST(unixepoch('subsec') * 1000000 AS INTEGER) - (?1 - i) * 1000"
	}
	copies := func(kind, key, parent, at string) string {
		return numbers + "INSERT INTO documents (kind, id, parent, at, doc) SELECT kind, " + key + ", " + parent + ", " + at +
			", CAST(replace(CAST(doc AS TEXT), ?2, " + newID + ") AS BLOB) FROM n JOIN documents ON kind = '" + kind + "' AND id = ?3"
	}
	for _, step := range []struct {
		query string
		key   string
	}{
		{copies("task", newID, "parent", at), id},
		{copies("allocation", newID+" || '.1'", newID, "at"), id + ".1"},
		{numbers + "INSERT INTO task_rows (id, grp, name, pool, submitted, ended) SELECT CAST(" + newID + " AS BLOB), grp, CAST(printf('Command (%x)', (i * 40503) % 1000003) AS BLOB), " +
			"pool, submitted + i * 1000, " + at + " FROM n JOIN task_rows ON id = CAST(?3 AS BLOB) WHERE ?2 <> ''", id},
		{numbers + "INSERT INTO log_marks (task, container, next_seq) SELECT " + newID + ", container, next_seq FROM n JOIN log_marks ON task = ?3 WHERE ?2 <> ''", id},
		{numbers + "INSERT INTO log_chunks (task, pos, allocation, container, first_seq, last_seq, from_at, to_at, lines, data) SELECT " + newID + ", pos, " + newID +
			" || '.1', container, first_seq, last_seq, from_at, to_at, lines, data FROM n JOIN log_chunks ON task = ?3 WHERE ?2 <> ''", id},
		{"UPDATE task_groups SET tasks = tasks + ?1 WHERE ?2 <> ?3", ""},
	} {
		if _, err := db.ExecContext(ctx, step.query, n, id, step.key); err != nil {
			return fmt.Errorf("make %d tasks of %s: %w", n, id, err)
		}
	}
	return nil
}
