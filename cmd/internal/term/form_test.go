package term_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/test/golden"
)

func machines() term.Field {
	return term.Field{
		Label: "Instance type", Help: "The machine type of the compute pool.", Flag: "--instance-type", Default: "g5.xlarge",
		Choices: []term.Choice{{Value: "g5.xlarge", About: "4 vCPU, 1 x A10G"}, {Value: "p4d.24xlarge", About: "96 vCPU, 8 x A100"}, {Value: "m6i.large"}},
		Check: func(_ context.Context, answer string) error {
			if answer == "x9.huge" || strings.HasPrefix(answer, "24") || answer == "xlarge" {
				return fmt.Errorf("there is no %s in us-west-2", answer)
			}
			return nil
		},
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, typed, want string }{
		{"nothing is the default", "\n", "g5.xlarge"},
		{"a number is a choice", "2\n", "p4d.24xlarge"},
		{"a name is itself", "g4dn.metal\n", "g4dn.metal"},
		{"type a part of a name to filter", "xlarge\n2\n", "p4d.24xlarge"},
		{"numbers are those shown last", "24XL\n1\n", "p4d.24xlarge"},
		{"a part of none leaves all", "xlarge\nx9.huge\n3\n", "m6i.large"},
		{"an invalid answer is asked again", "x9.huge\n2\n", "p4d.24xlarge"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, _, _ := term.Test(tc.typed, true)
			if got, err := s.Fill(t.Context(), machines()); err != nil || got != tc.want {
				t.Errorf("got %q and %v, want %q", got, err, tc.want)
			}
		})
	}
}

// The golden file holds the screen of a completed form.
func TestFormGolden(t *testing.T) {
	t.Parallel()
	s, _, screen := term.Test("x9.huge\n2\n\nlab\n", true)
	if _, err := s.Fill(t.Context(), machines()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Fill(t.Context(), term.Field{Label: "Cluster id", Flag: "--cluster-id"}); err != nil {
		t.Fatal(err)
	}
	const path = "testdata/form.golden"
	golden.Compare(t, path, screen.String())
}

func TestFillWithoutTerminalNamesFlag(t *testing.T) {
	t.Parallel()
	s, _, screen := term.Test("", false)
	_, err := s.Fill(t.Context(), machines())
	if _, ok := errors.AsType[*usage.Error](err); !ok || err.Error() != `cannot ask "Instance type" without a terminal: use --instance-type` || screen.Len() != 0 {
		t.Errorf("got %v and %q, want a usage error that names the flag, and silence", err, screen)
	}
}
