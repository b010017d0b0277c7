package task_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/det-deploy/det-deploy/cmd/internal/cmd/task"
	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

const taskID = "5d1f6f2e-0f7e-4d8e-9d3b-0c3c1d1c2b3a"

// master is a master with one task. The log ends when the task is killed, or at once if lines end it.
type master struct {
	*httptest.Server

	// state and log are the task and its log in the format of the API.
	state string
	log   []string
	// allocation is the newest allocation.
	allocation string

	once   sync.Once
	killed chan struct{}
}

func newMaster(t *testing.T, state string, log ...string) *master {
	t.Helper()
	m := &master{state: state, log: log, killed: make(chan struct{})}
	mux := http.NewServeMux()
	command := func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"command":{"id":"%s","description":"one",%s}}`, taskID, m.state)
	}
	mux.HandleFunc("POST /api/v1/commands", command)
	mux.HandleFunc("GET /api/v1/commands/{id}", command)
	mux.HandleFunc("POST /api/v1/commands/{id}/kill", func(w http.ResponseWriter, r *http.Request) {
		m.once.Do(func() { close(m.killed) })
		command(w, r)
	})
	mux.HandleFunc("GET /api/v1/tasks/{id}/logs", m.sendLog)
	mux.HandleFunc("GET /api/v1/tasks/{id}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"task":{"endTime":"2026-01-02T03:04:05Z","allocations":[{%s}]}}`, m.allocation)
	})
	m.Server = httptest.NewServer(mux)
	t.Cleanup(m.Close)
	return m
}

func (m *master) sendLog(w http.ResponseWriter, r *http.Request) {
	for i, line := range m.log {
		if line == "wait" {
			select {
			case <-m.killed:
			case <-r.Context().Done():
			}
			continue
		}
		fmt.Fprintf(w, `{"result":{"id":"%d","timestamp":"2026-01-02T03:04:05.006Z",%s}}`+"\n", i, line)
		w.(http.Flusher).Flush()
	}
}

// runTask runs a command line of `det-deploy task` with that master.
func (m *master) runTask(ctx context.Context, t *testing.T, args ...string) (code exit.Code, stdout, stderr string) {
	t.Helper()
	s, out, errs := term.Test("", false)
	home := t.TempDir()
	s = s.WithEnv(func(key string) string { return map[string]string{"HOME": home, "XDG_CONFIG_HOME": home}[key] })
	c := task.New(s)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(append([]string{args[0], "--master", m.URL}, args[1:]...))
	err := c.ExecuteContext(ctx)
	if err != nil {
		errs.WriteString(err.Error())
	}
	return exit.Of(err), out.String(), errs.String()
}

func TestRunSeparatesStreams(t *testing.T) {
	t.Parallel()
	m := newMaster(t, `"state":"STATE_TERMINATED","exitCode":3`,
		`"log":"one was assigned to an agent\n","source":"master","stdtype":"stdout","level":"LOG_LEVEL_INFO"`,
		`"log":"{\"a\": 1}\n","source":"task","stdtype":"stdout"`,
		`"log":"careful\n","source":"task","stdtype":"stderr","rankId":1,"level":"LOG_LEVEL_WARNING"`,
		`"log":"crashed: x\n","source":"master","stdtype":"stdout","level":"LOG_LEVEL_ERROR"`,
	)
	for _, tt := range []struct{ flags, stdout, stderr string }{
		{
			"", `{"a": 1}` + "\n", "Launched task " + taskID + " (one).\none was assigned to an agent\n[rank=1] WARNING: careful\nTask " + taskID +
				" failed with exit code 3.\n",
		},
		{"--quiet", `{"a": 1}` + "\n", "[rank=1] WARNING: careful\n"},
		{
			"--quiet --timestamps --prefix", `2026-01-02T03:04:05.006Z [rank=0] {"a": 1}` + "\n", "2026-01-02T03:04:05.006Z [rank=1] WARNING: careful\n",
		},
	} {
		args := append(append([]string{"run"}, strings.Fields(tt.flags)...), "--", "x")
		code, stdout, stderr := m.runTask(t.Context(), t, args...)
		if code != 3 || stdout != tt.stdout || stderr != tt.stderr {
			t.Errorf("%q: got code %d, stdout %q and stderr %q, want 3, %q and %q", tt.flags, code, stdout, stderr, tt.stdout, tt.stderr)
		}
	}
}

// A long line arrives in parts, and a program need not end its last line.
func TestRunPrintsWhatTheProgramWrote(t *testing.T) {
	t.Parallel()
	m := newMaster(t, `"state":"STATE_TERMINATED","exitCode":0`,
		`"log":"one\n","source":"task","stdtype":"stdout","containerId":"c","partial":true`,
		`"log":"note\n","source":"task","stdtype":"stderr","containerId":"c"`,
		`"log":"two\n","source":"task","stdtype":"stdout","containerId":"c","rankId":1,"partial":true`,
		`"log":"three\n","source":"task","stdtype":"stdout","containerId":"c"`,
		`"log":"end\n","source":"task","stdtype":"stdout","containerId":"c","partial":true`,
	)
	for _, flags := range []string{"-q", "-q --prefix"} {
		args := append(append([]string{"run"}, strings.Fields(flags)...), "--", "x")
		_, stdout, stderr := m.runTask(t.Context(), t, args...)
		if flags == "-q" && (stdout != "one[rank=1] twothree\nend" || stderr != "note\n") {
			t.Errorf("got stdout %q and stderr %q", stdout, stderr)
		}
		if flags != "-q" && stdout != "[rank=0] one[rank=1] twothree\n[rank=0] end" {
			t.Errorf("%s: got stdout %q", flags, stdout)
		}
	}
}

// The last lines of a program cannot clear the terminal.
func TestDescribeTamesLastLines(t *testing.T) {
	t.Parallel()
	m := newMaster(t, `"status":"failed"},"lastLines":["one","\u001b[2Jtwo"],"queue":{"jobsAhead":0`)
	s, out, _ := term.Test("", true)
	home := t.TempDir()
	c := task.New(s.WithEnv(func(key string) string { return map[string]string{"HOME": home}[key] }))
	c.SetArgs([]string{"describe", "--master", m.URL, taskID})
	if err := c.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := "Last lines:\n  one\n  \\x1b[2Jtwo\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("got %q, want %q at the end", out, want)
	}
}

func TestRunRejectsFlagsWithoutEffect(t *testing.T) {
	t.Parallel()
	m := newMaster(t, "")
	for flags, want := range map[string]string{
		"-i --detach":           "cannot be combined with --detach",
		"-t":                    "standard input and output must be a terminal",
		"--detach --timestamps": "use task logs",
		"--array 2 --prefix":    "use task logs",
	} {
		code, _, stderr := m.runTask(t.Context(), t, append(append([]string{"run"}, strings.Fields(flags)...), "--", "x")...)
		if code != exit.NotTheTask || !strings.Contains(stderr, want) {
			t.Errorf("%s: got code %d and %q, want %d and %q", flags, code, stderr, exit.NotTheTask, want)
		}
	}
}

func TestInterruptedRunKillsTaskAndAwaitsItsEnd(t *testing.T) {
	t.Parallel()
	m := newMaster(t, `"state":"STATE_TERMINATED","exitStatus":"killed by user ann"`,
		"wait", `"log":"last words\n","source":"task","stdtype":"stdout"`)
	ctx, interrupt := context.WithCancel(t.Context())
	interrupted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/logs") {
			interrupt()
		}
		m.Config.Handler.ServeHTTP(w, r)
	})
	front := httptest.NewServer(interrupted)
	t.Cleanup(front.Close)
	code, stdout, stderr := (&master{Server: front}).runTask(ctx, t, "run", "--quiet", "--", "x")
	want := "Killing task " + taskID + ". Ctrl-C again leaves now.\n"
	if code != exit.Canceled || stdout != "last words\n" || stderr != want {
		t.Errorf("got code %d, stdout %q and stderr %q, want %d, the last words and %q", code, stdout, stderr, exit.Canceled, want)
	}
}
