package search

import "fmt"

// Kind is a kind of action.
type Kind string

// The actions. RankTrial and DropTrial only change the state of the search; the caller carries out
// the others.
const (
	// CreateTrial creates the next trial.
	CreateTrial Kind = "create"
	// RankTrial records the place of a trial in a rung.
	RankTrial Kind = "rank"
	// StopTrial asks a trial to save a checkpoint and exit.
	StopTrial Kind = "stop"
	// DropTrial removes a trial from all rungs.
	DropTrial Kind = "drop"
	// FinishSearch reports that all trials have ended and no more will be created.
	FinishSearch Kind = "finish"
)

// Action is one decided action with its reason.
type Action struct {
	Kind   Kind   `json:"kind"`
	Trial  int    `json:"trial,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Full reports that StopTrial is for a trial that has trained its full length.
	Full bool `json:"full,omitempty"`

	Create  *Create `json:"create,omitempty"`
	Rank    *Rank   `json:"rank,omitempty"`
	Outcome End     `json:"outcome,omitempty"`
}

// Decision lists the actions that follow from one input.
type Decision struct {
	Actions []Action `json:"actions,omitempty"`
	// Drawn is the number of generator words used so far.
	Drawn uint64 `json:"drawn"`
}

// Create is a new trial. It lacks the hyperparameters, because a decision may create thousands of
// trials with hundreds of values each; Draws returns them one trial at a time.
type Create struct {
	// RequestID is a UUID derived from the seed.
	RequestID string `json:"request_id"`
	// Seed is the seed of the trial, which is below 2³¹.
	Seed    uint32 `json:"seed"`
	Bracket int    `json:"bracket,omitempty"`
}

// Rank is the place of a trial in a rung of its bracket when it reached the rung.
type Rank struct {
	Bracket int    `json:"bracket,omitempty"`
	Rung    int    `json:"rung"`
	Time    Number `json:"time"`
	Metric  Number `json:"metric"`
	// Worst marks a failed trial, which ranks behind every metric.
	Worst bool `json:"worst,omitempty"`
	// Place is the place, from 1, among Of trials including this one; the best GoOn trials continue.
	Place int `json:"place"`
	Of    int `json:"of"`
	GoOn  int `json:"go_on"`
	// GoesOn reports whether this trial continues.
	GoesOn bool `json:"goes_on"`
}

// describe returns a text such as "0.412 is 5th of 9, 3 continue".
func (r Rank) describe() string {
	return fmt.Sprintf("%s is %s of %d, %s", r.Metric, formatOrdinal(r.Place), r.Of, describeCount(r.GoOn))
}

func describeCount(n int) string {
	if n == 1 {
		return "the best one continues"
	}
	return fmt.Sprintf("%d continue", n)
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
