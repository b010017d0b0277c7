package clouds

import (
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

func TestSince(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"": noon.Add(-time.Hour), "10m": noon.Add(-10 * time.Minute), "2026-01-01T00:00:00Z": time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		if got, err := defaultSince(text, noon); err != nil || !got.Equal(want) {
			t.Errorf("%q: got %s and %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"yesterday", "-1h"} {
		if _, err := defaultSince(text, noon); err == nil {
			t.Errorf("%q: got no error, want one", text)
		}
	}
}

func TestLogLineNamesItsSource(t *testing.T) {
	t.Parallel()
	l := wire.MachineLog{Time: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), Instance: "i-1", Unit: "det-deploy-master", Message: "hello"}
	for _, tc := range []struct {
		part   string
		output term.Format
		want   string
	}{
		{"", term.Text, "2026-01-02T12:00:00Z i-1/master | hello\n"},
		{"master", term.Text, "2026-01-02T12:00:00Z i-1 | hello\n"},
		{"", term.JSON, `{"schema":"det-deploy.aws-log/v1","time":"2026-01-02T12:00:00Z","instance":"i-1","unit":"det-deploy-master","message":"hello"}` + "\n"},
	} {
		s, out, _ := term.Test("", false)
		(&LogQuery{Part: tc.part, Output: tc.output}).PrintLog(s, "aws", l)
		if out.String() != tc.want {
			t.Errorf("got %q, want %q", out, tc.want)
		}
	}
}
