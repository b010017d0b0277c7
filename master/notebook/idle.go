package notebook

import (
	"time"

	"github.com/det-deploy/det-deploy/master/task/spec"
)

// notice is how long before its end the log of a notebook warns, or half of a shorter time limit.
const notice = 5 * time.Minute

// seen is what is known about the use of a notebook at one moment.
type seen struct {
	Kernels   []kernel
	Terminals []terminal
	// Visits is the number of open requests of visitors: the connections of open pages.
	Visits int
}

// kernel and terminal are as in Jupyter's API.
type kernel struct {
	State       string    `json:"execution_state"`
	Connections int       `json:"connections"`
	Active      time.Time `json:"last_activity"`
}

type terminal struct {
	Active time.Time `json:"last_activity"`
}

// lastUse returns when the notebook was last used, given the last use that was known before.
func (s seen) lastUse(t spec.IdleType, before, now time.Time) time.Time {
	if s.Visits > 0 {
		return now
	}
	latest := before
	for _, k := range s.Kernels {
		switch {
		case t == spec.KernelsOrTerminals, t == spec.KernelConnections && k.Connections > 0, t == spec.Activity && k.State == "busy":
			return now
		case t == spec.Activity && k.Active.After(latest):
			latest = k.Active
		}
	}
	for _, term := range s.Terminals {
		switch {
		case t == spec.KernelsOrTerminals:
			return now
		case t == spec.Activity && term.Active.After(latest):
			latest = term.Active
		}
	}
	if latest.After(now) { // by the clock of its machine
		return now
	}
	return latest
}

// use is the use of a notebook over time.
type use struct {
	last time.Time
	// warned is when its log said that it will be ended; zero if it was used since then.
	warned time.Time
}

// note returns the use after a look at the notebook.
func (u use) note(s seen, t spec.IdleType, now time.Time) use {
	if last := s.lastUse(t, u.last, now); last.After(u.last) {
		return use{last: last}
	}
	return u
}

// verdict is what to do with a notebook.
type verdict string

const (
	keep verdict = "keep"
	warn verdict = "warn"
	end  verdict = "end"
)

// decide returns what to do with a notebook that is ended after a time without use.
func (u use) decide(limit time.Duration, now time.Time) verdict {
	idle, ahead := now.Sub(u.last), noticeOf(limit)
	switch {
	case idle < limit-ahead:
		return keep
	case u.warned.IsZero():
		return warn
	case idle >= limit && now.Sub(u.warned) >= ahead:
		return end
	}
	return keep
}

func noticeOf(limit time.Duration) time.Duration { return min(notice, limit/2) }
