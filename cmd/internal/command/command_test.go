package command_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

type greetOptions struct {
	command.Local

	Times int
}

func (o *greetOptions) Validate() error {
	if o.Given("times") && o.Times < 1 {
		return errors.New("--times: must be 1 or more")
	}
	return nil
}

// greet runs a command with arguments and returns its output.
func greet(args ...string) (out, notes string, err error) {
	s, stdout, stderr := term.Test("", false)
	o := &greetOptions{}
	c := command.New(s, o, func(_ context.Context, o *greetOptions) error {
		done, err := command.ForEach(o.Args, func(name string) (string, error) {
			if name == "nowhere" {
				return name, errors.New("no such place")
			}
			o.Tell("Hello %s.", name)
			return name, nil
		})
		return errors.Join(err, o.AnswerJSON(done))
	}, &cobra.Command{Use: "greet NAME…"})
	c.Flags().IntVar(&o.Times, "times", 0, "")
	c.SetArgs(args)
	c.SilenceErrors, c.SilenceUsage = true, true
	err = c.Execute()
	return stdout.String(), stderr.String(), err
}

func TestInvalidCommandLinesAreUsageErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want string }{
		{"", "NAME is missing"},
		{"ada --times 0", "--times: must be 1 or more"},
	} {
		_, notes, err := greet(strings.Fields(tt.args)...)
		if _, ok := errors.AsType[*usage.Error](err); !ok || err.Error() != tt.want || notes != "" {
			t.Errorf("%q: got %v after %q, want the usage error %q before anything is done", tt.args, err, notes, tt.want)
		}
	}
}

func TestForEachContinuesAfterError(t *testing.T) {
	t.Parallel()
	out, notes, err := greet("ada", "nowhere", "bob")
	if err == nil || out != "" || notes != "Hello ada.\nHello bob.\n" {
		t.Errorf("got %q, %q, %v, want greetings of both and an error", out, notes, err)
	}
	out, notes, err = greet("ada", "nowhere", "bob", "--output", "json")
	if err == nil || notes != "" || strings.Join(strings.Fields(out), "") != `["ada","bob"]` {
		t.Errorf("got %q, %q, %v, want JSON of both and an error", out, notes, err)
	}
}
