// Package idle ends tasks that serve people when nobody uses them. The decision is pure: Use.Decide; a Watch keeps
// the uses and carries it out.
package idle

import "time"

// notice is how long before its end the log of a task warns, or half of a shorter time limit.
const notice = 5 * time.Minute

// Use is the use of a task over time.
type Use struct {
	Last time.Time
	// Warned is when its log said that it will be ended; zero if it was used since then.
	Warned time.Time
}

// Note returns the use after a look at the task: last is when it was last used, as far as the look can tell.
func (u Use) Note(last time.Time) Use {
	if last.After(u.Last) {
		return Use{Last: last}
	}
	return u
}

// Verdict is what to do with a task.
type Verdict string

// Verdicts.
const (
	Keep Verdict = "keep"
	// Warn adds a warning to its log; the caller sets Warned.
	Warn Verdict = "warn"
	End  Verdict = "end"
)

// Decide returns what to do with a task that is ended after a time without use.
func (u Use) Decide(limit time.Duration, now time.Time) Verdict {
	unused, ahead := now.Sub(u.Last), noticeOf(limit)
	switch {
	case unused < limit-ahead:
		return Keep
	case u.Warned.IsZero():
		return Warn
	case unused >= limit && now.Sub(u.Warned) >= ahead:
		return End
	}
	return Keep
}

// Left returns the time until the end of a task whose verdict is Warn.
func (u Use) Left(limit time.Duration, now time.Time) time.Duration {
	return max(limit-now.Sub(u.Last), noticeOf(limit)).Round(time.Second)
}

func noticeOf(limit time.Duration) time.Duration { return min(notice, limit/2) }
