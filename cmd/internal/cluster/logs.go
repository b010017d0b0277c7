package cluster

import (
	"context"
	"encoding/json"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

type logsOptions struct {
	Selection

	args []string
}

func logsHelp() Help {
	return Help{
		Short: "Show the logs of a cluster on {on}",
		Example: `  det-deploy {name} logs --cluster-id lab
  det-deploy {name} logs --cluster-id lab --follow`,
	}
}

func newLogs(s *term.Streams, p Platform) *logsOptions { return &logsOptions{Selection: p.Select(s)} }

func (o *logsOptions) addFlags(f *pflag.FlagSet) { o.AddFlags(Logs, f) }

func (o *logsOptions) validate(args []string) error {
	o.args = args
	return o.Validate(Request{Verb: Logs, Args: args})
}

func (o *logsOptions) run(ctx context.Context) error {
	return exit.Followed(ctx, o.Logs(ctx, Request{Verb: Logs, Args: o.args}))
}

// AddFollow declares --follow.
func AddFollow(f *pflag.FlagSet, follow *bool) {
	f.BoolVarP(follow, "follow", "f", false, "follow new lines until interrupted")
}

// PrintLine prints a log line as text or as a line of JSON.
func PrintLine(s *term.Streams, f term.Format, line any, text string) {
	if f == term.JSON {
		b, _ := json.Marshal(line) // strings and times can always be encoded
		text = string(b)
	}
	s.Printf("%s", text)
}
