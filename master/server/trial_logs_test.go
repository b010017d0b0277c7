package server

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/log"
)

// storedLogs holds the logs of ended tasks.
type storedLogs struct {
	*cluster

	logs *log.Logs
}

func (s storedLogs) Log(ctx context.Context, f log.Filter, follow bool) (iter.Seq2[log.Entry, error], error) {
	if !follow {
		return s.logs.Query(ctx, f), nil
	}
	ended := make(chan struct{})
	close(ended)
	return s.logs.Follow(ctx, f, ended), nil
}

var loggedText = regexp.MustCompile(`"log": ?"([^"\\]+)`)

// storedLine is a line of a test's logs. Its text is unique.
type storedLine struct {
	log.Line
	id int64
}

// storeLines stores three lines of each task and returns all with their IDs in a log that joins them.
func storeLines(t *testing.T, logs *log.Logs, tasks ...string) []storedLine {
	t.Helper()
	var all []storedLine
	for n, task := range tasks {
		b := log.Batch{Task: task, Container: "c"}
		for i, level := range []log.Level{log.Info, log.Warning, log.Error} {
			rank := i % 2
			b.Lines = append(b.Lines, log.Line{
				At: start.Add(time.Duration(10*n+i) * time.Second), Text: fmt.Sprintf("%s says %d", task, i), Level: level, Rank: &rank,
			})
			all = append(all, storedLine{b.Lines[i], lineNumber(n, int64(i))})
		}
		if _, err := logs.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// selection is a query and the lines that it selects.
type selection struct {
	query   string
	selects func(l storedLine) bool
}

func selections(middle storedLine) []selection {
	at := url.QueryEscape(middle.At.Format(time.RFC3339Nano))
	return []selection{
		{"", func(storedLine) bool { return true }},
		{"levels=LOG_LEVEL_WARNING&levels=LOG_LEVEL_ERROR", func(l storedLine) bool { return l.Level != log.Info }},
		{"rankIds=1", func(l storedLine) bool { return *l.Rank == 1 }},
		{"containerIds=c", func(storedLine) bool { return true }},
		{"containerIds=other", func(storedLine) bool { return false }},
		{"searchText=SAYS+2", func(l storedLine) bool { return strings.HasSuffix(l.Text, "2") }},
		{"searchText=says+[02]$&enableRegex=true", func(l storedLine) bool { return !strings.HasSuffix(l.Text, "1") }},
		{"timestampAfter=" + at, func(l storedLine) bool { return l.At.After(middle.At) }},
		{"timestampBefore=" + at, func(l storedLine) bool { return l.At.Before(middle.At) }},
		{"afterId=" + strconv.FormatInt(middle.id, 10), func(l storedLine) bool { return l.id > middle.id }},
		{"beforeId=" + strconv.FormatInt(middle.id, 10), func(l storedLine) bool { return l.id < middle.id }},
		{"rankIds=0&timestampAfter=" + at, func(l storedLine) bool { return *l.Rank == 0 && l.At.After(middle.At) }},
	}
}

// ranges returns the parameters that limit n selected lines, with the bounds of the result. The order
// is reversed first if they contain DESC.
func ranges(n int) map[string]int {
	out := map[string]int{"": n, "limit=0": n, "limit=-1": n, "orderBy=ORDER_BY_DESC": n, "follow=true": n, "follow=true&limit=0": n}
	for limit := 1; limit <= n+1; limit++ {
		out[fmt.Sprintf("limit=%d", limit)] = min(limit, n)
		out[fmt.Sprintf("orderBy=ORDER_BY_DESC&limit=%d", limit)] = min(limit, n)
	}
	return out
}

// A trial that is continued has several tasks. Its log is the concatenation of their logs. It is read
// completely or in part, from either end, filtered and followed, like the log of one task.
func TestReadingsOfLogs(t *testing.T) {
	t.Parallel()
	w, s := newStudy(t)
	logs := log.New(t.Context(), w.store)
	t.Cleanup(logs.Close)
	w.remake(t, func(c *Config) { c.Logs, c.Trials = storedLogs{w.cluster, logs}, studyTrials{study: s} })
	one, three := storeLines(t, logs, "t1"), storeLines(t, logs, "t3", "t4", "t5")
	for path, lines := range map[string][]storedLine{"tasks/t1/logs": one, "trials/4/logs": one, "trials/3/logs": three} {
		for _, r := range selections(lines[len(lines)/2]) {
			var selected []string
			for _, l := range lines {
				if r.selects(l) {
					selected = append(selected, l.Text)
				}
			}
			for within, n := range ranges(len(selected)) {
				want := slices.Clone(selected)
				if strings.Contains(within, "DESC") {
					slices.Reverse(want)
				}
				w.wantLines(t, path+"?"+r.query+"&"+within, want[:n])
			}
		}
	}
	if rec := w.ask(t, http.MethodGet, prefix+"trials/3/logs?follow=true&limit=2", w.user, ""); rec.Code != http.StatusBadRequest {
		t.Errorf("a followed log with a limit: got %d %s, want 400", rec.Code, rec.Body)
	}
}

func (w *world) wantLines(t *testing.T, path string, want []string) {
	t.Helper()
	rec := w.ask(t, http.MethodGet, prefix+path, w.user, "")
	got := []string{}
	for _, m := range loggedText.FindAllStringSubmatch(rec.Body.String(), -1) {
		got = append(got, m[1])
	}
	if rec.Code != http.StatusOK || !slices.Equal(got, want) || strings.Contains(rec.Body.String(), `"error"`) {
		t.Errorf("%s: got %d %s, want %q", path, rec.Code, rec.Body, want)
	}
}
