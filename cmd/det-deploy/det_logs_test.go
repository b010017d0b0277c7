package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/dettest"
)

// The client filters lines by the rank and the level that programs write at their beginning. Each
// update of a progress bar is a line.
func TestDetFindsLinesByRankAndLevel(t *testing.T) {
	t.Parallel()
	c := newCluster(t, clusterConfig{Agent: "container_runtime: process\nartificial_slots: 1\n"})
	c.StartMaster()
	c.StartAgent("a")
	cl := dettest.Login(t, c.URL, "admin", password)
	id := detach(cl, nil, "sh", "-c", `printf '[rank=3] WARNING: hot\n[rank=1] INFO: mild\n\r10%%\r20%%\rERROR: broken\n'`)
	ends := func(args ...string) string {
		t.Helper()
		args = append([]string{"task", "logs", "--source", "task", "--stdtype", "stdout"}, args...)
		out := cl.OK("", append(args, id)...)
		var lines []string
		for line := range strings.Lines(out) {
			if _, text, found := strings.Cut(strings.TrimSpace(line), "Z] "); found {
				_, text, _ = strings.Cut(text, " ")
				lines = append(lines, strings.TrimSpace(text))
			}
		}
		return strings.Join(lines, "; ")
	}
	c.Eventually("the task has printed all", time.Minute, func() error {
		if got := ends(); !strings.HasSuffix(got, "broken") {
			return errors.New(got)
		}
		return nil
	})
	for _, q := range []struct {
		want string
		args []string
	}{
		{"[rank=3] || WARNING: hot; [rank=1] || INFO: mild; || 10%; || 20%; || ERROR: broken", nil},
		{"[rank=1] || INFO: mild", []string{"--rank-id", "1"}},
		{"[rank=3] || WARNING: hot; [rank=1] || INFO: mild", []string{"--rank-id", "1", "--rank-id", "3"}},
	} {
		if got := ends(q.args...); got != q.want {
			t.Errorf("%q: got %q, want %q", q.args, got, q.want)
		}
	}
	// The client's task command fails with --level; the library call behind it does not.
	text := "from determined.common.api import authentication, bindings, logs\n" +
		"sess = authentication.login_with_cache('" + c.URL + "')\n" +
		"for l in logs.task_logs(sess, '" + id + "', min_level=bindings.v1LogLevel.WARNING, sources=['task']): print(l.level.value, l.rankId, l.log.strip())\n" +
		"print(sorted(next(iter(bindings.get_TaskLogsFields(sess, taskId='" + id + "'))).rankIds))\n"
	out, err := cl.Python("-c", text).CombinedOutput()
	if want := "LOG_LEVEL_WARNING 3 hot\nLOG_LEVEL_ERROR None broken\n[1, 3]\n"; err != nil || string(out) != want {
		t.Errorf("got %s, %v, want %s", out, err, want)
	}
}
