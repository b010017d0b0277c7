package task_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/det-deploy/det-deploy/cmd/internal/exit"
)

// stages is a master whose task has the next of the states each time it is read, and keeps the last.
func stages(t *testing.T, states ...string) *master {
	t.Helper()
	var n atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/commands/{id}", func(w http.ResponseWriter, _ *http.Request) {
		i := min(int(n.Add(1)), len(states)) - 1
		if states[i] == "" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintf(w, `{"command":{"id":"%s",%s}}`, taskID, states[i])
	})
	m := &master{Server: httptest.NewServer(mux)}
	t.Cleanup(m.Close)
	return m
}

const (
	queued    = `"state":"STATE_QUEUED","status":"queued"`
	running   = `"state":"STATE_RUNNING","status":"running"`
	succeeded = `"state":"STATE_TERMINATED","status":"succeeded","exitCode":0`
	failed    = `"state":"STATE_TERMINATED","status":"failed","exitCode":3`
	killed    = `"state":"STATE_TERMINATED","status":"killed"`
)

func TestWait(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		flags  string
		states []string
		code   exit.Code
		says   string
	}{
		{"", []string{queued, running, succeeded}, exit.Done, "Task " + taskID + ": succeeded.\n"},
		{"", []string{queued, failed}, exit.Done, "Task " + taskID + ": failed with exit code 3.\n"},
		{"--for running", []string{queued, running}, exit.Done, ": running."},
		{"--for running", []string{queued, failed}, exit.Done, ": failed with exit code 3."}, // it has run
		{"--for running", []string{queued, killed}, exit.Error, "task " + taskID + " is not running: it is killed"},
		{"--for succeeded", []string{running, failed}, exit.Error, "is not succeeded: it is failed with exit code 3"},
		{"--for killed", []string{running, killed}, exit.Done, ": killed."},
		{"--timeout 1ms", []string{queued}, exit.Error, "not reached within 1ms: task " + taskID + " is queued"},
		{"--for done", nil, exit.Usage, `--for "done": must be one of ended, running`},
		{"--timeout -1s", nil, exit.Usage, "--timeout -1s: must be positive"},
	} {
		t.Run(tt.flags+" "+strings.Join(tt.states, " "), func(t *testing.T) {
			t.Parallel()
			args := append(append([]string{"wait"}, strings.Fields(tt.flags)...), taskID)
			code, stdout, stderr := stages(t, tt.states...).runTask(t.Context(), t, args...)
			if code != tt.code || stdout != "" || !strings.Contains(stderr, tt.says) {
				t.Errorf("got code %d, %q and %q, want %d and %q", code, stdout, stderr, tt.code, tt.says)
			}
		})
	}
}

func TestFollowedLogEndsWithExitCode(t *testing.T) {
	t.Parallel()
	for allocation, want := range map[string]exit.Code{
		`"statusCode":3`:                          3,
		`"statusCode":0`:                          exit.Done,
		`"exitReason":"killed by user ann"`:       exit.NotTheTask,
		`"statusCode":7,"exitReason":"preempted"`: 7,
	} {
		m := newMaster(t, succeeded, `"log":"hello\n","message":"head hello\n","source":"task"`)
		m.allocation = allocation
		if code, stdout, _ := m.runTask(t.Context(), t, "logs", "--follow", "--exit-code", taskID); code != want || stdout != "head hello\n" {
			t.Errorf("%s: got code %d and %q, want %d", allocation, code, stdout, want)
		}
	}
	if code, _, stderr := newMaster(t, "").runTask(t.Context(), t, "logs", "--exit-code", taskID); code != exit.Usage || !strings.Contains(stderr, "requires --follow") {
		t.Errorf("got code %d and %q, want %d", code, stderr, exit.Usage)
	}
}
