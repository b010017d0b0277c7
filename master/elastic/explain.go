package elastic

import (
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

// Explain says in words for a task's owner why a gang of that fate waits; it is
// empty where the scheduler's own reason says it all. The words change only when
// the matter does, so that they may be written into a log; Next has the time.
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
		return fmt.Sprintf("the pool may have %d machines, and needs more for this", l.Max)
	case TooLarge:
		return "no machine of the pool is large enough"
	case Fits, AtJobLimit:
	}
	return ""
}

// Words is a refusal for people.
func (r Refusal) Words() string {
	what := map[cloud.Kind]string{
		cloud.NoCapacity:  "the platform has no capacity",
		cloud.Quota:       "a limit of the account is reached",
		cloud.Denied:      "the master may not launch machines",
		cloud.Invalid:     "the pool's configuration is refused",
		cloud.NotFound:    "the pool's configuration is refused",
		cloud.Conflict:    "the pool's configuration is refused",
		cloud.RateLimited: "the platform asks for fewer calls",
		cloud.Unavailable: "the platform does not answer",
		cloud.Ambiguous:   "the platform's answer was lost",
	}[r.Kind]
	if r.Broken {
		what = "machines of the pool do not come up"
	}
	if what == "" {
		what = "the launch was refused"
	}
	out := what + ": " + r.Text
	if r.Fix != "" {
		out += " (" + r.Fix + ")"
	}
	return out
}

// Next is when a refused launch is tried again, in words with the time left.
func (r Refusal) Next(now time.Time) string {
	if r.Until.IsZero() || !r.Until.After(now) {
		return ""
	}
	return "next try in " + r.Until.Sub(now).Round(time.Second).String()
}

// The pauses between two lists: short while something is expected of one, and
// else as long as it takes to notice in time what no agent tells.
const (
	listSoon  = 15 * time.Second // a link is broken: was the machine taken?
	listOften = 30 * time.Second // machines start or end
	listCalm  = 5 * time.Minute  // all are there, and their agents say so
	listRare  = 30 * time.Minute // there are none; something may have been forgotten
)

// NextList is when the platform should be asked again what there is.
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
