package elastic

import (
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

// Explain returns the reason why a gang of that fate waits, for the task's owner. It returns "" where
// the scheduler's own reason suffices. The text changes only with the cause, so that it can be logged;
// Next returns the time of the next attempt.
func Explain(fate Fate, d Decision, l Limits) string {
	switch fate {
	case Coming:
		return "a machine is starting"
	case Wanted:
		if d.Standing.Kind == "" {
			return "a machine is being launched"
		}
		return d.Standing.Words()
	case AtMax:
		return fmt.Sprintf("the task needs more machines than the maximum of the pool (%d)", l.Max)
	case TooLarge:
		return "no machine of the pool is large enough"
	case Fits, AtJobLimit:
	}
	return ""
}

// Words returns the text of a refusal for people.
func (r Refusal) Words() string {
	what := map[cloud.Kind]string{
		cloud.NoCapacity:  "the platform has no capacity",
		cloud.Quota:       "a quota of the account is exhausted",
		cloud.Denied:      "the master lacks the permission to launch machines",
		cloud.Invalid:     "the platform rejects the pool's configuration",
		cloud.NotFound:    "the platform rejects the pool's configuration",
		cloud.Conflict:    "the platform rejects the pool's configuration",
		cloud.RateLimited: "the platform throttles requests",
		cloud.Unavailable: "the platform is unavailable",
		cloud.Ambiguous:   "the platform's response was lost",
	}[r.Kind]
	if r.Broken {
		what = "machines of the pool fail to join"
	}
	if what == "" {
		what = "the launch failed"
	}
	out := what + ": " + r.Text
	if r.Fix != "" {
		out += " (" + r.Fix + ")"
	}
	return out
}

// Next returns the time left until a refused launch is retried, in words.
func (r Refusal) Next(now time.Time) string {
	if r.Until.IsZero() || !r.Until.After(now) {
		return ""
	}
	return "next try in " + r.Until.Sub(now).Round(time.Second).String()
}

// Intervals between two lists: short while a list is expected to show a change, otherwise just short
// enough to notice in time the changes that no agent reports.
const (
	listSoon  = 15 * time.Second // the connection to an agent is lost: the machine may have been interrupted
	listOften = 30 * time.Second // machines start or end
	listCalm  = 5 * time.Minute  // all machines have joined, and their agents report
	listRare  = 30 * time.Minute // there are no machines, but some may be unrecorded
)

// NextList returns the time of the next list.
func (f *Fleet) NextList(last, now time.Time) time.Time {
	if last.IsZero() {
		return now
	}
	pause := listRare
	if len(f.Machines) > 0 {
		pause = listCalm
	}
	if len(f.Launches) > 0 {
		pause = listOften
	}
	for _, m := range f.Machines {
		if m.State != Joined && m.State != Draining {
			pause = min(pause, listOften)
		}
	}
	for _, a := range f.Agents {
		if a.Lost && f.Machines[a.ID] != nil {
			pause = listSoon
		}
	}
	return last.Add(pause)
}
