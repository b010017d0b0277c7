package lifecycle

import (
	"fmt"
	"slices"
	"time"
)

// Silence is the time without a message after which an unmanaged trial ends. The library sends a
// heartbeat every minute.
const Silence = 5 * time.Minute

// IsSilent reports whether a program sent no message for too long. Heard is the time of its last
// message, or the start of the master if that is later, because messages were lost while the master
// was down.
func IsSilent(heard, now time.Time) bool { return now.Sub(heard) > Silence }

// EndElsewhere returns the trial after its unmanaged program has ended, and the reason. The first
// matching row applies:
//
//	trial, and its end                          next
//	killed or canceled                          CANCELED
//	silent, and had never started               CANCELED
//	reported invalid hyperparameters            COMPLETED
//	exited with 0                               COMPLETED
//	silent                                      ERROR
//	failed, refused                             ERROR
func (t Trial) EndElsewhere(c Cause) (Trial, string) {
	began, invalid := t.Run > 0, t.Invalid()
	t.Running = false
	switch {
	case c == Killed:
		t.State = Canceled
		return t, "canceled by its program"
	case c == Lost && !began:
		t.State = Canceled
		return t, "its program never started"
	case invalid:
		t.State = Completed
		return t, "invalid hyperparameters"
	case c == Exited:
		t.State = Completed
		return t, "its program completed"
	case c == Lost:
		t.State = Error
		return t, fmt.Sprintf("no heartbeat from its program for %.0f minutes", Silence.Minutes())
	}
	t.State = Error
	return t, "its program failed"
}

// ResumeElsewhere returns the trial after its next unmanaged run has started. It counts a restart if
// the previous run did not complete.
func (t Trial) ResumeElsewhere() Trial {
	if t.Run > 0 && (t.Running || slices.Contains([]State{Error, Canceled}, t.State)) {
		t.Restarts++
	}
	t.State, t.Running, t.InvalidSince = Active, true, nil
	t.Run++
	return t
}

// ReviveElsewhere returns the trial after its program, which had been silent, sent a message again.
func (t Trial) ReviveElsewhere() Trial {
	t.State, t.Running = Active, t.Run > 0
	return t
}
