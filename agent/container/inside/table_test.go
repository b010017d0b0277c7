package inside

import "testing"

func TestParseStat(t *testing.T) {
	t.Parallel()
	got, ok := parseStat(7, "7 (a) b) S 3 7 5 0 -1 4194560")
	if !ok || got != (Proc{PID: 7, Parent: 3, Session: 5}) {
		t.Errorf("got %+v, %v", got, ok)
	}
	for _, bad := range []string{"", "7 (x", "7 (x) S", "7 (x) Z 1 1 1", "7 (x) S a b c"} {
		if _, ok := parseStat(7, bad); ok {
			t.Errorf("%q passes for a process", bad)
		}
	}
}
