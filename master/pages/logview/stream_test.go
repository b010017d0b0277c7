package logview

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/client"
)

func sent(t *testing.T, items ...item) string {
	t.Helper()
	lines := make(chan item, len(items))
	for _, it := range items {
		lines <- it
	}
	close(lines)
	rec := httptest.NewRecorder()
	(&events{w: rec}).send(lines)
	return rec.Body.String()
}

func TestStream(t *testing.T) {
	t.Parallel()
	got := sent(t, item{Entry: line(1, "<b>one")}, item{Entry: line(2, "two\r\nevent: end")})
	for _, want := range []string{"id: 2\nevent: lines\ndata: <div", "&lt;b&gt;one", "event: end\ndata: The log has ended.\n\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want it to contain %q", got, want)
		}
	}
	if n := strings.Count(got, "event: lines"); n != 1 {
		t.Errorf("got %d events, want one for lines that are ready together", n)
	}
	for l := range strings.Lines(got) {
		if l = strings.TrimRight(l, "\n"); l != "" && !strings.HasPrefix(l, "data: ") && !strings.HasPrefix(l, ":") && !strings.HasPrefix(l, "id: ") && l != "event: lines" && l != "event: end" {
			t.Errorf("got the line %q in the stream", l)
		}
	}
	many := make([]item, 3*mostTogether)
	for i := range many {
		many[i] = item{Entry: line(i, "x")}
	}
	if got := sent(t, many...); strings.Count(got, "event: lines") != 3 || strings.Count(got, `class="line"`) != len(many) {
		t.Errorf("got %d events with %d lines", strings.Count(got, "event: lines"), strings.Count(got, `class="line"`))
	}
}

func TestStreamEndsWithItsError(t *testing.T) {
	t.Parallel()
	refused := &client.Error{Kind: client.Forbidden, Message: "the log is\nprivate"}
	got := sent(t, item{Entry: line(1, "one")}, item{err: refused})
	if !strings.Contains(got, "one") || !strings.HasSuffix(got, "event: problem\ndata: The log is\uFFFDprivate.\n\n") || strings.Contains(got, "event: end") {
		t.Errorf("got %q", got)
	}
}
