package lifecycle

import (
	"slices"
	"strings"
	"testing"
)

// wantExperiments lists all transitions independently of the code.
const wantExperiments = `
ACTIVE: PAUSED STOPPING_COMPLETED STOPPING_CANCELED STOPPING_KILLED STOPPING_ERROR
PAUSED: ACTIVE STOPPING_COMPLETED STOPPING_CANCELED STOPPING_KILLED STOPPING_ERROR
STOPPING_COMPLETED: COMPLETED
STOPPING_CANCELED: CANCELED STOPPING_KILLED
STOPPING_KILLED: CANCELED
STOPPING_ERROR: ERROR
COMPLETED: DELETING
CANCELED: DELETING
ERROR: DELETING
DELETING: DELETED DELETE_FAILED
DELETED:
DELETE_FAILED: DELETING
`

const wantTrials = `
ACTIVE: PAUSED STOPPING_COMPLETED STOPPING_CANCELED STOPPING_KILLED STOPPING_ERROR COMPLETED ERROR
PAUSED: ACTIVE STOPPING_COMPLETED STOPPING_CANCELED STOPPING_KILLED STOPPING_ERROR COMPLETED ERROR
STOPPING_COMPLETED: COMPLETED STOPPING_KILLED STOPPING_ERROR ERROR
STOPPING_CANCELED: CANCELED STOPPING_KILLED STOPPING_ERROR ERROR
STOPPING_KILLED: CANCELED
STOPPING_ERROR: ERROR STOPPING_KILLED
COMPLETED:
CANCELED:
ERROR:
DELETING:
DELETED:
DELETE_FAILED:
`

func TestTransitionTables(t *testing.T) {
	for name, c := range map[string]struct {
		table func(State) []State
		want  string
	}{"experiments": {experimentTable, wantExperiments}, "trials": {trialTable, wantTrials}} {
		for line := range strings.Lines(strings.TrimSpace(c.want)) {
			from, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
			want := strings.Fields(rest)
			var got []string
			for _, s := range c.table(State(from)) {
				got = append(got, string(s))
			}
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: from %s to %v, want %v", name, from, got, want)
			}
		}
	}
}

func TestStatesAreOpenStoppingOrEnded(t *testing.T) {
	for _, s := range States() {
		open := s == Active || s == Paused
		n := 0
		for _, is := range []bool{open, s.Stopping(), s.Over()} {
			if is {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s is %d of open, stopping, over", s, n)
		}
	}
}

func TestRequests(t *testing.T) {
	for _, c := range []struct {
		from State
		ask  Request
		to   State
		err  string
	}{
		{Active, Pause, Paused, ""},
		{Paused, Pause, Paused, ""},
		{Paused, Activate, Active, ""},
		{Active, Cancel, StoppingCanceled, ""},
		{StoppingCanceled, Cancel, StoppingCanceled, ""},
		{StoppingCanceled, Kill, StoppingKilled, ""},
		{StoppingKilled, Cancel, StoppingKilled, ""},
		{Completed, Kill, Completed, ""},
		{Canceled, Cancel, Canceled, ""},
		{StoppingCanceled, Finish, StoppingCanceled, ""},
		{Active, Fail, StoppingError, ""},
		{Active, Delete, Active, "cancel or kill it first"},
		{StoppingError, Delete, StoppingError, "cancel or kill it first"},
		{Error, Delete, Deleting, ""},
		{Deleting, Delete, Deleting, ""},
		{Deleted, Delete, Deleted, ""},
		{DeleteFailed, Delete, Deleting, ""},
		{Completed, Activate, Completed, "continue or fork it"},
		{StoppingKilled, Pause, StoppingKilled, "it is stopping"},
		{Deleting, Pause, Deleting, "it is being deleted"},
		{Active, "resume", Active, "unknown request"},
	} {
		got, err := Ask(c.from, c.ask)
		if got != c.to || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s + %s = %s, %v; want %s, %q", c.from, c.ask, got, err, c.to, c.err)
		}
	}
}

func TestDeletionEndsOnce(t *testing.T) {
	for _, c := range []struct {
		from  State
		whole bool
		to    State
	}{{Deleting, true, Deleted}, {Deleting, false, DeleteFailed}, {Completed, true, Completed}, {Deleted, false, Deleted}} {
		got, err := EndDeletion(c.from, c.whole)
		if got != c.to || (err == nil) != (c.from == Deleting) {
			t.Errorf("%s, whole %v: %s, %v", c.from, c.whole, got, err)
		}
	}
}

func TestShow(t *testing.T) {
	for _, c := range []struct {
		state State
		runs  []Progress
		want  string
	}{
		{Active, nil, "QUEUED"},
		{Active, []Progress{Queued, Starting, Pulling}, "STARTING"},
		{Active, []Progress{Running, Queued}, "RUNNING"},
		{Paused, []Progress{Running}, "PAUSED"},
		{StoppingCanceled, []Progress{Running}, "STOPPING_CANCELED"},
	} {
		if got := Show(c.state, c.runs); got != c.want {
			t.Errorf("%s %v is shown as %s", c.state, c.runs, got)
		}
	}
}
