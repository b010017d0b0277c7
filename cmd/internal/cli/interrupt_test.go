package cli_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cmd/internal/cli"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd"
	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// run runs a command line against a master that sends line and then remains silent until the user
// interrupts the command.
func run(t *testing.T, line string, args ...string) (exit.Code, string) {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	master := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, line)
		w.(http.Flusher).Flush()
		interrupt()
		<-r.Context().Done()
	}))
	defer master.Close()
	s, _, conversation := term.Test("", false)
	home := t.TempDir()
	s = s.WithEnv(func(key string) string { return map[string]string{"HOME": home, "XDG_CONFIG_HOME": home}[key] })
	code := cli.Run(ctx, s, cmd.New, append(args, "--master", master.URL))
	return code, conversation.String()
}

func TestInterruptedFollowEndsSilently(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ command, line string }{
		{"task logs --follow 5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a", `{"result":{"id":"1","message":"hello\n"}}`},
		{"task logs --follow --output json 5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a", `{"result":{"id":"1","message":"hello\n"}}`},
		{"trial logs --follow 12", `{"result":{"id":"1","message":"hello\n"}}`},
		{"master logs --follow", `{"result":{"logEntry":{"id":1,"message":"hello"}}}`},
		{"audit --follow", `{"result":{"entry":{"id":"1"}}}`},
	} {
		for _, begin := range []string{"", tt.line + "\n", tt.line[:20]} {
			t.Run(fmt.Sprintf("%s after %q", tt.command, begin), func(t *testing.T) {
				t.Parallel()
				code, said := run(t, begin, strings.Fields(tt.command)...)
				if code != exit.Canceled || said != "" {
					t.Errorf("got code %d and %q, want %d and silence", code, said, exit.Canceled)
				}
			})
		}
	}
}

func TestInterruptedCallIsQuiet(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"task list --all", "agent list", "task list --all --output json"} {
		for _, begin := range []string{"", "{"} {
			t.Run(fmt.Sprintf("%s after %q", command, begin), func(t *testing.T) {
				t.Parallel()
				code, said := run(t, begin, strings.Fields(command)...)
				if code != exit.Canceled || said != "" {
					t.Errorf("got code %d and %q, want %d and silence", code, said, exit.Canceled)
				}
			})
		}
	}
}

func TestInterruptedQuestionChangesNothing(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"experiment delete 7", "checkpoint delete 5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a", "agent revoke a1", "user change-password",
		"login ada", "master rotate-keys",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			master := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
			defer master.Close()
			s, _, conversation := term.Test("", true)
			home := t.TempDir()
			s = s.WithEnv(func(key string) string { return map[string]string{"HOME": home, "XDG_CONFIG_HOME": home}[key] })
			s.In = pressed(interrupt)
			args := strings.Fields(command)
			if args[0] != "master" {
				args = append(args, "--master", master.URL)
			}
			code := cli.Run(ctx, s, cmd.New, args)
			if code != exit.Canceled || !strings.HasSuffix(conversation.String(), "\nNothing was changed.\n") {
				t.Errorf("got code %d and %q, want %d and that nothing was changed", code, conversation, exit.Canceled)
			}
		})
	}
}

// pressed is a keyboard on which the user presses Ctrl-C when asked.
type pressed context.CancelFunc

func (p pressed) Read([]byte) (int, error) {
	p()
	select {}
}
