package idle

import (
	"testing"
	"time"
)

func at(minute int) time.Time {
	return time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC).Add(time.Duration(minute) * time.Minute)
}

func TestDecide(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		use   Use
		limit time.Duration
		now   time.Time
		want  Verdict
	}{
		{"used lately", Use{Last: at(0)}, time.Hour, at(54), Keep},
		{"five minutes before", Use{Last: at(0)}, time.Hour, at(55), Warn},
		{"warned", Use{Last: at(0), Warned: at(55)}, time.Hour, at(59), Keep},
		{"the end", Use{Last: at(0), Warned: at(55)}, time.Hour, at(60), End},
		{"half of a short limit", Use{Last: at(0)}, 4 * time.Minute, at(2), Warn},
		{"its machine was away", Use{Last: at(0)}, time.Hour, at(300), Warn},
		{"warned only then", Use{Last: at(0), Warned: at(300)}, time.Hour, at(304), Keep},
		{"five minutes later", Use{Last: at(0), Warned: at(300)}, time.Hour, at(305), End},
	} {
		if got := tt.use.Decide(tt.limit, tt.now); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
	warned := Use{Last: at(0), Warned: at(55)}
	if got := warned.Note(at(57)); got != (Use{Last: at(57)}) {
		t.Errorf("got %v after another use, want that the warning is void", got)
	}
}
