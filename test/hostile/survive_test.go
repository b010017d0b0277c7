package hostile_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/test/clustertest"
)

// survivors are processes that try to survive the kill of their task.
func survivors(at where) []attempt {
	var all []attempt
	for i, k := range []struct{ name, script string }{
		{"a session of its own", "setsid sleep %d &"},
		{"a session of its own and no environment", "env -i /bin/sh -c 'PATH=/bin:/usr/bin; setsid sleep %d' &"},
		{"an orphan", "(sh -c 'sleep %d &' &)"},
		{"an orphan in a session of its own, without environment and descriptors", "env -i PATH=/bin:/usr/bin setsid sh -c 'exec sleep %d' </dev/null >/dev/null 2>&1 3>&- 4>&- &"},
		{"signals that it passes over", "(trap '' HUP INT TERM QUIT; exec setsid sleep %d) &"},
		{"a process that forks for ever", "cat >again <<'END'\nn=$1; [ $n -gt 200 ] && exec sleep %[1]d; sleep 0.05; env -i PATH=/bin:/usr/bin setsid sh \"$0\" $((n+1)) %[1]d >/dev/null 2>&1 &\nEND\nenv -i PATH=/bin:/usr/bin setsid sh ./again 1 %[1]d >/dev/null 2>&1 &"},
	} {
		seconds := 86_000 + 10*i
		if at == docker {
			seconds++
		}
		script := "cd \"${DET_WORKDIR:-.}\"; " + fmt.Sprintf(k.script, seconds) + "\necho STARTED; sleep 86399.5"
		all = append(all, attempt{
			name: "a task on " + string(at) + " leaves behind " + k.name, who: userTask, where: at, wants: "to go on after the task was killed",
			try: func(ctx context.Context, w *world) outcome { return w.survives(ctx, script, seconds) },
		})
	}
	return all
}

// survives runs a script, kills its task, and reports success if processes of it remain.
func (w *world) survives(ctx context.Context, script string, seconds int) outcome {
	id, err := w.launch(ctx, "mallory", task{script: script})
	if err == nil {
		_, err = w.line(ctx, "mallory", id, "STARTED")
	}
	if err != nil {
		return isUntried(err)
	}
	if !w.awaits(ctx, func() bool { return w.runs(seconds) }) {
		return outcome{untried, "nothing was left behind before the kill"}
	}
	if err := w.try(ctx, "mallory", call{method: "POST", path: "/api/v1/commands/" + id + "/kill"}, nil); err != nil {
		return isUntried(err)
	}
	if err := w.ended(ctx, "mallory", id); err != nil {
		return isUntried(err)
	}
	// The last of them may be exiting; one scan may miss a process that forks.
	gone := w.awaits(ctx, func() bool {
		for range 3 {
			if w.runs(seconds) {
				return false
			}
		}
		return true
	})
	return gained(!gone, "what is marked by %d goes on: %v", seconds, !gone)
}

// awaits polls until holds returns true. It returns false after patience.
func (w *world) awaits(ctx context.Context, holds func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !holds() {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(100 * time.Millisecond):
		}
	}
	return true
}

// runs reports whether this machine has a process with this number as last argument, in any
// namespace: a sleep of that many seconds, or a process that is about to execute it.
func (w *world) runs(seconds int) bool {
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, name := range names {
		text, _ := os.ReadFile(name) // it may have exited
		if bytes.HasSuffix(text, fmt.Appendf(nil, "\x00%d\x00", seconds)) {
			return true
		}
	}
	return false
}

// followed refers to a file of the master or the agent in a field that expects a text.
func followed(at where, name string) attempt {
	return attempt{
		name: "a task on " + string(at) + " names a file of the master as registry_auth." + name, who: user, where: at, wants: asksSecrets, control: launches,
		try: func(ctx context.Context, w *world) outcome {
			t := task{script: "env; cat /run/determined/* 2>/dev/null; true", config: environment("registry_auth", map[string]any{name: "file:{cluster}/master.yaml"})}
			a, err := w.do(ctx, call{"POST", "/api/v1/commands", t.body(w), bearing(w.tokens["mallory"])})
			if err != nil {
				return isUntried(err)
			}
			return gained(strings.Contains(string(a.body), clustertest.Password), "%s", a)
		},
	}
}
