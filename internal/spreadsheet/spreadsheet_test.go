package spreadsheet_test

import (
	"encoding/csv"
	"errors"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/internal/spreadsheet"
)

func TestCellsAreNoFormulas(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"=1+1": "'=1+1", "+1+cmd": "'+1+cmd", "-1+1": "'-1+1", "@sum": "'@sum", "\t=1": "'\t=1", "\n=1": "'\n=1", "=": "'=",
		"": "", "-": "-", "-1.5e-3": "-1.5e-3", "+3": "+3", "-Inf": "-Inf", "a=1": "a=1", "'=1": "'=1", "2026-11-30": "2026-11-30",
	} {
		var out strings.Builder
		w := spreadsheet.NewWriter(&out)
		w.Write(text, "b")
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if got, err := csv.NewReader(strings.NewReader(out.String())).Read(); err != nil || got[0] != want || got[1] != "b" {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestFlushReturnsTheErrorOfALine(t *testing.T) {
	t.Parallel()
	w := spreadsheet.NewWriter(full{})
	w.Write(strings.Repeat("x", 1<<20))
	w.Write("y")
	if err := w.Flush(); err == nil || err.Error() != "no room" {
		t.Errorf("got %v", err)
	}
}
