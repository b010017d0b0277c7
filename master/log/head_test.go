package log_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/log"
)

func TestReadHeadMatchesLogShipper(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[rank=3] WARNING: hot":                "3 WARNING hot",
		"[rank=0]INFO:x":                       "0 INFO x",
		" [rank=12]  ERROR:  two":              "12 ERROR  two",
		"DEBUG: [7] determined: preparing":     "- DEBUG [7] determined: preparing",
		"CRITICAL:":                            "- CRITICAL ",
		"INFO: [rank=1] x":                     "- INFO [rank=1] x",
		"":                                     "-  ",
		"plain":                                "-  plain",
		"TRACE: x":                             "-  TRACE: x",
		"info: x":                              "-  info: x",
		"12:30 INFO: x":                        "-  12:30 INFO: x",
		"[rank=x] INFO: x":                     "-  [rank=x] INFO: x",
		"[rank=]":                              "-  [rank=]",
		"[rank=-1] x":                          "-  [rank=-1] x",
		"[rank=4294967296] x":                  "-  [rank=4294967296] x",
		"  [rank=1] x":                         "-    [rank=1] x",
		"[rank=1":                              "-  [rank=1",
		"INFO" + strings.Repeat(" ", 99):       "-  INFO" + strings.Repeat(" ", 99),
		"[rank=1] x" + strings.Repeat(".:", 9): "1  x" + strings.Repeat(".:", 9),
	} {
		l := log.ReadHead(log.Line{Text: text})
		rank := "-"
		if l.Rank != nil {
			rank = fmt.Sprint(*l.Rank)
		}
		if got := fmt.Sprintf("%s %s %s", rank, l.Level, l.Text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestReadExactHeadLosesNothing(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"WARNING: hot": "WARNING", "INFO: ": "INFO", "INFO:root:x": "", " INFO: x": "", "INFO:": "", "plain": "",
		"[rank=3] INFO: x": "3 INFO", "[rank=3]  x": "3 ", "[rank=3]x": "", "[rank=03] x": "", " [rank=3] x": "",
	} {
		l := log.ReadExactHead(log.Line{Text: text})
		whole, head := l.Text, string(l.Level)
		if l.Level != "" {
			whole = string(l.Level) + ": " + whole
		}
		if l.Rank != nil {
			whole, head = fmt.Sprintf("[rank=%d] %s", *l.Rank, whole), fmt.Sprintf("%d %s", *l.Rank, head)
		}
		if head != want || whole != text {
			t.Errorf("%q: got head %q and %q, want %q and the same line", text, head, whole, want)
		}
	}
}

func TestSplitReturns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":             {""},
		"a\n":          {"a\n"},
		"a\r\n":        {"a\n"},
		"\r10%\r20%\n": {"10%", "20%\n"},
		"a\r":          {"a"},
		"\r":           {""},
		"\r\n":         {"\n"},
	} {
		if got := log.SplitReturns(text); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
