package cluster

import (
	"context"
	"errors"
	"strconv"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

// IDPage is the key of the page that asks for a cluster's ID.
const IDPage = "cluster"

// Ask is how a page of a form comes to its question.
type Ask = func(context.Context, term.Answers) (*term.Field, error)

// AnsweredID is the cluster's ID as far as it is known: the one that was given, or else the
// answer.
func AnsweredID(given string, a term.Answers) string {
	if given != "" {
		return given
	}
	answer, _ := a.Get(IDPage)
	return answer
}

// AskID returns the question for the ID of a new cluster, or nil where one is given.
func AskID(given, help string) *term.Field {
	if given != "" {
		return nil
	}
	return &term.Field{
		Label: "Cluster ID", Help: help, Flag: "--cluster-id",
		Check: func(_ context.Context, id string) error { return CheckID(id) },
	}
}

// CheckCount refuses an answer that is no number of things of which there is at least one.
func CheckCount(answer string) error {
	if n, err := strconv.Atoi(answer); err != nil || n < 1 {
		return errors.New("must be a number, 1 or more")
	}
	return nil
}

// RequireID refuses a cluster's ID that is missing, or that no cluster has. List is the
// command that lists clusters: "aws list".
func RequireID(id, list string) error {
	if id == "" {
		return usage.Errorf("--cluster-id is missing: `det-deploy %s` shows what there is", list)
	}
	return CheckID(id)
}

// PrintEquivalent shows the command line that gives what a form was answered, and what to
// add to it.
func PrintEquivalent(s *term.Streams, command string, more ...string) {
	s.Notef("")
	s.Notef("Equivalent command:")
	s.Notef("")
	for _, line := range append([]string{command}, more...) {
		s.Notef("  %s", line)
	}
	s.Notef("")
}
