package keeper

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/agent/companion"
)

func TestAKeeperRepeatsNothing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := says{log: slog.New(slog.NewTextHandler(&out, nil))}
	for range 3 { // two errors that alternate
		s.warnOnce("cannot look", "container", "a", "err", os.ErrPermission)
		s.warnOnce("cannot look", "container", "a", "err", os.ErrNotExist)
		s.warnOnce("cannot look", "container", "b", "err", os.ErrNotExist)
	}
	if got := strings.Count(out.String(), "\n"); got != 3 {
		t.Errorf("got %d lines, want 3:\n%s", got, &out)
	}
	s.forgetWarnings()
	s.warnOnce("cannot look", "container", "b", "err", os.ErrNotExist)
	if got := strings.Count(out.String(), "\n"); got != 4 {
		t.Errorf("after the next lease: got %d lines, want 4", got)
	}
}

// A keeper that looks begins its log anew, which may have grown since it was started.
func TestTheLogOfAKeeperThatRunsBeginsAnew(t *testing.T) {
	t.Parallel()
	k, _ := overdue(t, &engine{})
	name := string(logFile(k.cfg.DataDir))
	for _, c := range []struct{ size, want int }{{companion.LogMost, companion.LogMost}, {companion.LogMost + 1, 0}} {
		if err := os.WriteFile(name, make([]byte, c.size), 0o600); err != nil {
			t.Fatal(err)
		}
		k.takeStep(t.Context())
		if info, err := os.Stat(name); err != nil || info.Size() != int64(c.want) {
			t.Errorf("of %d bytes: got %v, %v, want %d", c.size, info, err, c.want)
		}
	}
}
