package cluster

import (
	"context"
	"errors"
	"strconv"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

// IDPage is the key of the page that asks for the cluster ID.
const IDPage = "cluster"

// Ask returns the question of a page, or nil if there is none.
type Ask = func(context.Context, term.Answers) (*term.Field, error)

// AnsweredID returns the given cluster ID, or else the answered one.
func AnsweredID(given string, a term.Answers) string {
	if given != "" {
		return given
	}
	answer, _ := a.Get(IDPage)
	return answer
}

// AskID returns the question for the ID of a new cluster, or nil if one is given.
func AskID(given, help string) *term.Field {
	if given != "" {
		return nil
	}
	return &term.Field{
		Label: "Cluster ID", Help: help, Flag: "--cluster-id",
		Check: func(_ context.Context, id string) error { return CheckID(id) },
	}
}

// CheckCount returns an error unless the answer is a positive number.
func CheckCount(answer string) error {
	if n, err := strconv.Atoi(answer); err != nil || n < 1 {
		return errors.New("must be a positive number")
	}
	return nil
}

// RequireID returns an error if a cluster ID is missing or invalid. list is the command that lists
// clusters, such as "aws list".
func RequireID(id, list string) error {
	if id == "" {
		return usage.Errorf("--cluster-id is missing: `det-deploy %s` shows existing clusters", list)
	}
	return CheckID(id)
}

// PrintEquivalent prints the command line that is equivalent to the answers of a form, and additional
// lines.
func PrintEquivalent(s *term.Streams, command string, more ...string) {
	s.Notef("")
	s.Notef("Equivalent command:")
	s.Notef("")
	for _, line := range append([]string{command}, more...) {
		s.Notef("  %s", line)
	}
	s.Notef("")
}
