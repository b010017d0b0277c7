package wire

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A line that the cloud returns twice or late is shown once.
func TestFollowShowsEachLineOnce(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	line := func(id, unit string, after time.Duration) MachineLog {
		return MachineLog{Time: noon.Add(after), Instance: "i-1", Unit: unit, Message: "line " + id}
	}
	master := "det-deploy-master"
	read := MachineLogs(func(_ context.Context, _ time.Time, show func(string, MachineLog)) error {
		show("1", line("1", master, 0))
		show("2", line("2", "det-deploy-host", time.Second)) // of another unit
		show("1", line("1", master, 0))                      // returned twice
		show("4", line("4", master, 3*time.Second))
		show("3", line("3", master, 2*time.Second)) // late
		return nil
	})
	var got []MachineLog
	if err := read.Follow(t.Context(), MachineLogQuery{Unit: master}, func(l MachineLog) { got = append(got, l) }); err != nil {
		t.Fatal(err)
	}
	want := []MachineLog{line("1", master, 0), line("4", master, 3*time.Second), line("3", master, 2*time.Second)}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}

func TestFollowedLogIsReadFromLateLines(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	f := &following{query: MachineLogQuery{Since: noon}, seen: map[string]time.Time{}, each: func(MachineLog) {}}
	f.showLine("1", MachineLog{Time: noon.Add(time.Second)})
	if got := f.since(); !got.Equal(noon) {
		t.Errorf("got %s, want nothing before %s", got, noon)
	}
	f.showLine("2", MachineLog{Time: noon.Add(time.Hour)})
	f.forgetOld()
	if got, want := f.since(), noon.Add(time.Hour-late); !got.Equal(want) || len(f.seen) != 1 {
		t.Errorf("got %s and %v, want %s and the last line", got, f.seen, want)
	}
}
