package lifecycle

import (
	"testing"
	"time"
)

func TestEndElsewhere(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_000_000, 0)
	running, unborn, invalid := Trial{State: Active, Run: 1, Running: true}, Trial{State: Active}, Trial{State: Active, Run: 1, Running: true, InvalidSince: &at}
	for _, row := range []struct {
		name  string
		trial Trial
		cause Cause
		want  State
		why   string
	}{
		{"ended", running, Exited, Completed, "its program completed"},
		{"failed", running, Failed, Error, "its program failed"},
		{"canceled", running, Killed, Canceled, "canceled by its program"},
		{"silent", running, Lost, Error, "no heartbeat from its program for 5 minutes"},
		{"never began", unborn, Lost, Canceled, "its program never started"},
		{"failed before it began", unborn, Failed, Error, "its program failed"},
		{"impossible, with an error", invalid, Failed, Completed, "invalid hyperparameters"},
		{"impossible and silent", invalid, Lost, Completed, "invalid hyperparameters"},
		{"impossible and canceled", invalid, Killed, Canceled, "canceled by its program"},
	} {
		got, why := row.trial.EndElsewhere(row.cause)
		if got.State != row.want || got.Running || why != row.why {
			t.Errorf("%s: got %s (%q, running: %t), want %s (%q)", row.name, got.State, why, got.Running, row.want, row.why)
		}
	}
}

func TestEndElsewhereIsTerminal(t *testing.T) {
	t.Parallel()
	for _, c := range Causes() {
		for run := range 3 {
			if got, _ := (Trial{State: Active, Run: run, Running: run > 0}).EndElsewhere(c); !got.State.Over() {
				t.Errorf("%s of run %d: got %s, want an end", c, run, got.State)
			}
		}
	}
}

func TestResumeElsewhere(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		before         Trial
		run, restarted int
	}{
		{Trial{State: Active}, 1, 0},
		{Trial{State: Completed, Run: 1}, 2, 0},
		{Trial{State: Error, Run: 1}, 2, 1},
		{Trial{State: Canceled}, 1, 0},
		{Trial{State: Active, Run: 2, Running: true, Restarts: 1}, 3, 2},
	} {
		got := row.before.ResumeElsewhere()
		if got.Run != row.run || got.Restarts != row.restarted || !got.Running || got.State != Active {
			t.Errorf("%+v: got %+v, want run %d with %d restarts", row.before, got, row.run, row.restarted)
		}
	}
	if got := (Trial{State: Error, Run: 2}).ReviveElsewhere(); !got.Running || got.State != Active || got.Run != 2 {
		t.Errorf("got %+v, want run 2 again", got)
	}
}

func TestSilenceIsLongerThanFiveHeartbeats(t *testing.T) {
	t.Parallel()
	heard := time.Unix(1_000_000, 0)
	if IsSilent(heard, heard.Add(Silence)) || !IsSilent(heard, heard.Add(Silence+1)) || IsSilent(heard, heard.Add(-time.Hour)) {
		t.Errorf("silence does not begin after %s", Silence)
	}
}
