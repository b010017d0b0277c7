package server

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/log"
)

// storedLogs holds the logs of ended tasks.
type storedLogs struct {
	*cluster

	logs *log.Logs
}

func (s storedLogs) Log(ctx context.Context, f log.Filter, _ bool) (iter.Seq2[log.Entry, error], error) {
	return s.logs.Query(ctx, f), nil
}

var loggedText = regexp.MustCompile(`"log": ?"(\w+)`)

// A trial that is continued has several tasks. Its log is the concatenation of their logs, which can be
// read completely or in part, from either end.
func TestLogOfContinuedTrialJoinsAllTasks(t *testing.T) {
	t.Parallel()
	w, s := newStudy(t)
	logs := log.New(t.Context(), w.store)
	t.Cleanup(logs.Close)
	w.remake(t, func(c *Config) { c.Logs, c.Trials = storedLogs{w.cluster, logs}, studyTrials{study: s} })
	var all []string
	for _, task := range []string{"t3", "t4", "t5"} {
		b := log.Batch{Task: task}
		for i := range 2 {
			b.Lines = append(b.Lines, log.Line{At: start, Text: fmt.Sprintf("%s%c", task, 'a'+i)})
			all = append(all, b.Lines[i].Text)
		}
		if _, err := logs.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	newest := slices.Clone(all)
	slices.Reverse(newest)
	for limit := -1; limit <= len(all)+1; limit++ {
		wanted := limit
		if limit <= 0 || limit > len(all) {
			wanted = len(all)
		}
		for order, want := range map[string][]string{"ORDER_BY_ASC": all[:wanted], "ORDER_BY_DESC": newest[:wanted]} {
			path := fmt.Sprintf("%strials/3/logs?limit=%d&orderBy=%s", prefix, limit, order)
			rec := w.ask(t, http.MethodGet, path, w.user, "")
			var got []string
			for _, m := range loggedText.FindAllStringSubmatch(rec.Body.String(), -1) {
				got = append(got, m[1])
			}
			if rec.Code != http.StatusOK || !slices.Equal(got, want) || strings.Contains(rec.Body.String(), `"error"`) {
				t.Errorf("%s: got %d %s, want %s", path, rec.Code, rec.Body, want)
			}
		}
	}
}
