package lifecycle

import (
	"testing"
	"time"
)

// TestEndRun has one row for each row of the table, and rows for their order.
func TestEndRun(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	invalid := func(t Trial) Trial { return t.ReportInvalid(at) }
	plain := func(t Trial) Trial { return t }
	worn := func(t Trial) Trial { t.Restarts = 2; return t }
	for _, c := range []struct {
		name     string
		state    State
		change   func(Trial) Trial
		end      RunEnd
		to       State
		verdict  Verdict
		restarts int
	}{
		{"0", Active, plain, RunEnd{Cause: Exited}, Completed, Done, 0},
		{"0 while paused, and not heeded", Paused, plain, RunEnd{Cause: Exited}, Completed, Done, 0},
		{"heeded", Active, plain, RunEnd{Cause: Exited, Heeded: true}, Active, Again, 0},
		{"heeded a pause", Paused, plain, RunEnd{Cause: Exited, Heeded: true}, Paused, Held, 0},
		{"killed in a pause", Paused, plain, RunEnd{Cause: Killed}, Paused, Held, 0},
		{"lost", Active, plain, RunEnd{Cause: Lost}, Active, Again, 0},
		{"lost in a pause", Paused, plain, RunEnd{Cause: Lost}, Paused, Held, 0},
		{"failed", Active, plain, RunEnd{Cause: Failed}, Active, Again, 1},
		{"failed in a pause", Paused, plain, RunEnd{Cause: Failed}, Paused, Held, 1},
		{"failed for the last time", Active, worn, RunEnd{Cause: Failed}, Error, Done, 2},
		{"lost after the last restart", Active, worn, RunEnd{Cause: Lost}, Active, Again, 2},
		{"failed, not to be retried", Active, plain, RunEnd{Cause: Failed, NoRetry: true}, Error, Done, 0},
		{"heeded with an error", Active, plain, RunEnd{Cause: Failed, Heeded: true}, Active, Again, 1},
		{"refused", Active, plain, RunEnd{Cause: Refused}, Error, Done, 0},
		{"impossible, 0", Active, invalid, RunEnd{Cause: Exited}, Completed, Done, 0},
		{"impossible, failed", Active, invalid, RunEnd{Cause: Failed}, Completed, Done, 0},
		{"impossible, heeded", Paused, invalid, RunEnd{Cause: Exited, Heeded: true}, Completed, Done, 0},
		{"impossible, lost", Active, invalid, RunEnd{Cause: Lost}, Completed, Done, 0},
		{"stopped by the search", StoppingCompleted, plain, RunEnd{Cause: Exited, Heeded: true}, Completed, Done, 0},
		{"stopped by the search, too slow", StoppingCompleted, plain, RunEnd{Cause: Killed}, Completed, Done, 0},
		{"stopped by the search, machine lost", StoppingCompleted, plain, RunEnd{Cause: Lost}, Completed, Done, 0},
		{"stopped by the search, failed", StoppingCompleted, plain, RunEnd{Cause: Failed}, Error, Done, 0},
		{"canceled", StoppingCanceled, plain, RunEnd{Cause: Exited, Heeded: true}, Canceled, Done, 0},
		{"canceled, never placed", StoppingCanceled, plain, RunEnd{Cause: Refused}, Canceled, Done, 0},
		{"canceled, failed", StoppingCanceled, plain, RunEnd{Cause: Failed}, Error, Done, 0},
		{"killed, failed", StoppingKilled, plain, RunEnd{Cause: Failed}, Canceled, Done, 0},
		{"the experiment failed", StoppingError, plain, RunEnd{Cause: Exited}, Error, Done, 0},
	} {
		before := c.change(Trial{State: c.state, Run: 1, Running: true})
		after, verdict, why := before.EndRun(c.end, 2)
		if after.State != c.to || verdict != c.verdict || after.Restarts != c.restarts || after.Running || why == "" {
			t.Errorf("%s: %s, %s, %d restarts (%s); want %s, %s, %d", c.name, after.State, verdict, after.Restarts, why, c.to, c.verdict, c.restarts)
		}
		again, repeated, _ := after.EndRun(c.end, 2)
		if again.State != after.State || again.Restarts != after.Restarts || repeated != verdict {
			t.Errorf("%s: noted twice it leads to %+v and %s", c.name, again, repeated)
		}
	}
}

func TestInvalidTrialEndsAfterClockChange(t *testing.T) {
	said := time.Unix(1_700_000_000, 0)
	trial := Trial{State: Active, Running: true}.ReportInvalid(said)
	for passed, want := range map[time.Duration]Want{0: Keep, 9 * time.Second: Keep, 10 * time.Second: End, -time.Hour: End, 24 * time.Hour: End} {
		if got := trial.Wanted(said.Add(passed)); got != want {
			t.Errorf("%v after the report: got %s, want %s", passed, got, want)
		}
	}
}

func TestMachinesAreExcludedOnce(t *testing.T) {
	trial := Trial{State: Active}
	for range 3 {
		trial, _, _ = trial.Begin().EndRun(RunEnd{Cause: Failed, Excluded: []string{"node-a", "node-b"}}, 9)
	}
	if len(trial.Excluded) != 2 || trial.Restarts != 3 || trial.Run != 3 {
		t.Errorf("%+v", trial)
	}
}

func TestWanted(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		trial Trial
		want  Want
	}{
		{Trial{State: Active}, Start},
		{Trial{State: Active, Running: true}, Keep},
		{Trial{State: Paused}, Nothing},
		{Trial{State: Paused, Running: true}, Signal},
		{Trial{State: StoppingCompleted, Running: true}, Signal},
		{Trial{State: StoppingCanceled, Running: true}, Signal},
		{Trial{State: StoppingKilled, Running: true}, End},
		{Trial{State: StoppingError, Running: true}, End},
		{Trial{State: Completed}, Nothing},
		{Trial{State: Active, Running: true}.ReportInvalid(at.Add(-9 * time.Second)), Keep},
		{Trial{State: Active, Running: true}.ReportInvalid(at.Add(-10 * time.Second)), End},
		{Trial{State: Paused, Running: true}.ReportInvalid(at.Add(-time.Minute)).ReportInvalid(at), End},
	} {
		if got := c.trial.Wanted(at); got != c.want {
			t.Errorf("%+v: %s, want %s", c.trial, got, c.want)
		}
	}
}

func TestLateReportInvalid(t *testing.T) {
	for _, trial := range []Trial{{State: Active}, {State: Completed}} {
		if got := trial.ReportInvalid(time.Unix(0, 0)); got.Invalid() {
			t.Errorf("%+v without a run became %+v", trial, got)
		}
	}
}

func TestTrialsFollowTheirExperiment(t *testing.T) {
	for _, c := range []struct {
		trial Trial
		x     State
		want  State
	}{
		{Trial{State: Active, Running: true}, Paused, Paused},
		{Trial{State: Paused}, Active, Active},
		{Trial{State: StoppingCompleted, Running: true}, Paused, StoppingCompleted},
		{Trial{State: StoppingCompleted, Running: true}, StoppingCanceled, StoppingCompleted},
		{Trial{State: StoppingCompleted, Running: true}, StoppingKilled, StoppingKilled},
		{Trial{State: Active, Running: true}, StoppingCanceled, StoppingCanceled},
		{Trial{State: Paused}, StoppingCanceled, Canceled},
		{Trial{State: Paused}, StoppingError, Error},
		{Trial{State: Completed}, StoppingKilled, Completed},
	} {
		if got := c.trial.Follow(c.x); got.State != c.want {
			t.Errorf("%+v of an experiment that is %s: %s, want %s", c.trial, c.x, got.State, c.want)
		}
	}
	if got := NewTrial(Paused, "w"); got.State != Paused || got.Checkpoint() != "w" {
		t.Errorf("a new trial of a paused experiment: %+v", got)
	}
	if got := (Trial{State: Paused}).Stop(StoppingCompleted); got.State != Completed {
		t.Errorf("stopped by the search without a run: %s", got.State)
	}
}
