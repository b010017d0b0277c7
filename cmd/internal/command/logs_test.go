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
		s, out, _ := term.Test("", true)
		if err := command.PrintLogLine(s, &apiv1.TaskLogsResponse{Log: tt.log, Message: tt.message}); err != nil || out.String() != tt.want {
			t.Errorf("%q: got %q, %v, want %q", tt.message, out, err, tt.want)
		}
	}
}
