package search

import "fmt"

// Kind is a kind of action.
type Kind string

// The actions. A rank and a drop are facts for the search itself; who runs the experiment carries
// out the others.
const (
	// CreateTrial makes the next trial.
	CreateTrial Kind = "create"
	// RankTrial notes a trial's place in a rung.
	RankTrial Kind = "rank"
	// StopTrial asks a trial to save itself and end.
	StopTrial Kind = "stop"
	// DropTrial takes a trial out of all rungs.
	DropTrial Kind = "drop"
	// FinishSearch says that all trials have ended and none follows.
	FinishSearch Kind = "finish"
)

// Action is one thing that was decided, with its reason.
type Action struct {
	Kind   Kind   `json:"kind"`
	Trial  int    `json:"trial,omitempty"`
	Reason string `json:"reason,omitempty"`

	Create  *Create `json:"create,omitempty"`
	Rank    *Rank   `json:"rank,omitempty"`
	Outcome End     `json:"outcome,omitempty"`
}

// Decision is what followed from one input.
type Decision struct {
	Actions []Action `json:"actions,omitempty"`
	// Drawn is how many words of the generator were used when it was made.
	Drawn uint64 `json:"drawn"`
}

// Create is a new trial. Its hyperparameters are not part of it, because a decision may create thousands of
// trials with hundreds each: Draws has them one trial at a time.
type Create struct {
	// RequestID is a UUID that the seed determines.
	RequestID string `json:"request_id"`
	// Seed is the trial's own, below 2³¹.
	Seed    uint32 `json:"seed"`
	Bracket int    `json:"bracket,omitempty"`
}

// Rank is a trial's place in a rung of its bracket at the moment it reached it.
type Rank struct {
	Bracket int    `json:"bracket,omitempty"`
	Rung    int    `json:"rung"`
	Time    Number `json:"time"`
	Metric  Number `json:"metric"`
	// Worst marks a trial that failed: it is behind every metric.
	Worst bool `json:"worst,omitempty"`
	// Place counts from 1 among Of trials, this one included, of which GoOn go on.
	Place int `json:"place"`
	Of    int `json:"of"`
	GoOn  int `json:"go_on"`
	// GoesOn says whether this one does.
	GoesOn bool `json:"goes_on"`
}

// describe reads as "0.412 is 5th of 9, 3 go on".
func (r Rank) describe() string {
	return fmt.Sprintf("%s is %s of %d, %s", r.Metric, formatOrdinal(r.Place), r.Of, describeCount(r.GoOn))
}

func describeCount(n int) string {
	if n == 1 {
		return "the best one continues"
	}
	return fmt.Sprintf("%d go on", n)
}

func formatOrdinal(n int) string {
	suffix := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}
