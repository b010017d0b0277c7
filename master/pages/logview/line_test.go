package logview

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func line(id int, text string) Entry {
	at := time.Date(2026, 3, 4, 5, 6, id, 0, time.UTC)
	return &apiv1.TaskLogsResponse{
		Id: fmt.Sprint(id), Timestamp: timestamppb.New(at), Log: text + "\n", Message: "[at] " + text + "\n", Level: apiv1.LogLevel_LOG_LEVEL_INFO,
	}
}

func TestReadable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain\n":                                  "plain",
		"\x1b[1;31mred\x1b[0m and \x1b[38:5:1mx":   "red and x",
		"\x1b]0;title\x07text":                     "text",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link",
		"\x1b(Bascii":                              "ascii",
		" 10%\r 50%\r100%\r\n":                     "100%",
		"a\tb":                                     "a\tb",
		"a\x00b\x07":                               "a\uFFFDb\uFFFD",
		"\u202egnp.exe":                            "\uFFFDgnp.exe",
		"<script>alert(1)</script>":                "<script>alert(1)</script>",
		"\xff":                                     "\uFFFD",
		"":                                         "",
	} {
		if got := Readable(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	warning := &apiv1.TaskLogsResponse{Id: "3", Log: "Loss is nan, loss too\n", Level: apiv1.LogLevel_LOG_LEVEL_WARNING, RankId: proto.Int32(2), Timestamp: &timestamppb.Timestamp{}}
	long := line(4, strings.Repeat("ü", longestLine))
	got := ShowLines([]Entry{warning, long}, Filter{Search: "LOSS"})
	want := Line{
		ID: "3", At: "1970-01-01T00:00:00Z", Shown: "1970-01-01 00:00:00 UTC", Level: "warning", Rank: "2",
		Parts: []Part{{"Loss", true}, {" is nan, ", false}, {"loss", true}, {" too", false}},
	}
	if d := cmp.Diff(got[0], want); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
	if cut := got[1]; cut.Rest != longestLine/2 || len(cut.Parts) != 1 || len(cut.Parts[0].Text) != longestLine {
		t.Errorf("got %d parts and %d characters left out", len(cut.Parts), cut.Rest)
	}
	if parts := split("abc", Filter{Search: "x*", Regexp: true}.matches("abc")); len(parts) != 1 || parts[0].Match {
		t.Errorf("got %v for empty matches", parts)
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Filter{
		"":                                       {},
		"search=a+b&regexp=on&level=ERROR":       {Search: "a b", Regexp: true, Level: "ERROR"},
		"stream=stderr&rank=3&before=17":         {Stream: "stderr", Rank: "3", Before: "17"},
		"level=LOUD&stream=x&rank=-1&before=-2":  {},
		"rank=99999999999&before=0":              {},
		"search=" + strings.Repeat("a", 4<<10+1): {},
	} {
		q, err := url.ParseQuery(text)
		if err != nil {
			t.Fatal(err)
		}
		f := ParseFilter(q)
		if d := cmp.Diff(f, want); d != "" {
			t.Errorf("%s (-got +want):\n%s", text, d)
		}
		again, err := url.Parse(f.address("/p", f.Before))
		if err != nil || ParseFilter(again.Query()) != f {
			t.Errorf("%s: got the address %v for %+v", text, again, f)
		}
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	var list []Entry
	for i := range pageLines + 1 {
		list = append(list, line(i+10, "x"))
	}
	s := Source{Path: "/det/tasks/t/logs"}
	ended := s
	ended.Ended = true
	type addresses struct{ Earlier, Latest, Stream string }
	for name, tt := range map[string]struct {
		s    Source
		f    Filter
		list []Entry
		want addresses
	}{
		"nothing yet":          {s, Filter{}, nil, addresses{Stream: "/det/tasks/t/logs/stream"}},
		"nothing":              {ended, Filter{}, nil, addresses{}},
		"some lines":           {s, Filter{Level: "ERROR"}, list[:2], addresses{Stream: "/det/tasks/t/logs/stream?after=11&level=ERROR"}},
		"more than a page":     {ended, Filter{Search: "x"}, list, addresses{Earlier: "/det/tasks/t/logs?before=11&search=x"}},
		"the page before that": {s, Filter{Before: "11"}, list[:1], addresses{Latest: "/det/tasks/t/logs"}},
	} {
		p := newPage(tt.s, tt.f, tt.list, "")
		if d := cmp.Diff(addresses{p.Earlier, p.Latest, p.Stream}, tt.want); d != "" {
			t.Errorf("%s (-got +want):\n%s", name, d)
		}
		if len(p.Lines) > pageLines {
			t.Errorf("%s: got %d lines", name, len(p.Lines))
		}
	}
}
