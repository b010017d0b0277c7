package lifecycle

import (
	"fmt"
	"slices"
	"time"
)

// Silence is how long a program that runs elsewhere may say nothing before its trial ends without it. The
// library sends a heartbeat each minute.
const Silence = 5 * time.Minute

// IsSilent says that a program was not heard of for too long. Heard is when it was, or when the master
// began to listen if that is later: what was said to none is not held against it.
func IsSilent(heard, now time.Time) bool { return now.Sub(heard) > Silence }

// EndElsewhere is a trial whose program runs elsewhere after that has ended, and why in words: the first row that
// applies.
//
//	trial, and its end                          next
//	was killed or canceled, by whomever         CANCELED
//	not heard of, and had never begun           CANCELED
//	reported impossible hyperparameters         COMPLETED
//	ended with 0                                COMPLETED
//	not heard of any more                       ERROR
//	failed, refused                             ERROR
func (t Trial) EndElsewhere(c Cause) (Trial, string) {
	began, invalid := t.Run > 0, t.Invalid()
	t.Running = false
	switch {
	case c == Killed:
		t.State = Canceled
		return t, "it was canceled where it runs"
	case c == Lost && !began:
		t.State = Canceled
		return t, "its program never began"
	case invalid:
		t.State = Completed
		return t, "its hyperparameters are impossible"
	case c == Exited:
		t.State = Completed
		return t, "its program ended"
	case c == Lost:
		t.State = Error
		return t, fmt.Sprintf("its program was not heard of for %.0f minutes", Silence.Minutes())
	}
	t.State = Error
	return t, "its program failed"
}

// ResumeElsewhere is a trial whose next run begins elsewhere. A restart is counted when the run before did not end
// of itself.
func (t Trial) ResumeElsewhere() Trial {
	if t.Run > 0 && (t.Running || slices.Contains([]State{Error, Canceled}, t.State)) {
		t.Restarts++
	}
	t.State, t.Running, t.InvalidSince = Active, true, nil
	t.Run++
	return t
}

// ReviveElsewhere is a trial that ended for its silence, whose program was heard of again.
func (t Trial) ReviveElsewhere() Trial {
	t.State, t.Running = Active, t.Run > 0
	return t
}
