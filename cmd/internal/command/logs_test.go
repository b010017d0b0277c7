package command_test

import (
	"testing"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// The master sends the text with its newline after the prefix in the message.
func TestLogLineCannotOverwriteItsPrefix(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ log, message, want string }{
		{" 1%\r 2%\n", "[t] f6114bb3 ||  1%\r 2%\n", "[t] f6114bb3 ||  2%\n"},
		{"x\r[t] [rank=0] || y", "[t] f6114bb3 || x\r[t] [rank=0] || y\n", "[t] f6114bb3 || [t] [rank=0] || y\n"},
		{"a\nb\r\n", "[t] f6114bb3 || a\n    b\r\n", "[t] f6114bb3 || a\n    b\\r\n"},
	} {
		if got := printedLog(t, true, &apiv1.TaskLogsResponse{Log: tt.log, Message: tt.message}); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.message, got, tt.want)
		}
	}
}

func TestPartsOfALogLineAreJoined(t *testing.T) {
	t.Parallel()
	line := func(container, text string, partial bool) *apiv1.TaskLogsResponse {
		return &apiv1.TaskLogsResponse{
			ContainerId: &container, Log: text + "\n", Message: "[t] " + container + " || " + text + "\n", Partial: &partial,
		}
	}
	got := printedLog(t, false, line("a", "1", true), line("a", "2", true), line("a", "3", false), line("a", "4", true),
		line("b", "5", false), line("a", "6", true))
	want := "[t] a || 123\n[t] a || 4\n[t] b || 5\n[t] a || 6\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func printedLog(t *testing.T, terminal bool, lines ...*apiv1.TaskLogsResponse) string {
	t.Helper()
	s, out, _ := term.Test("", terminal)
	each := func(yield func(*apiv1.TaskLogsResponse, error) bool) {
		for _, l := range lines {
			if !yield(l, nil) {
				return
			}
		}
	}
	if err := command.PrintLog(t.Context(), &command.Local{Base: command.Base{Streams: s}}, each); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
