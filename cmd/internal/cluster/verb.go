package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// Verb identifies an operation on a cluster.
type Verb string

// The verbs.
const (
	Up          Verb = "up"
	Plan        Verb = "plan"
	Doctor      Verb = "doctor"
	Status      Verb = "status"
	List        Verb = "list"
	Logs        Verb = "logs"
	Credentials Verb = "credentials"
	Upgrade     Verb = "upgrade"
	Down        Verb = "down"
	Adopt       Verb = "adopt"
)

// Describes reports whether the flags of a verb describe the requested cluster.
func (v Verb) Describes() bool { return v == Up || v == Plan || v == Doctor }

// Help holds the help texts of a command. Empty fields default to the texts of the verb, in which {on} is
// replaced by On, and {name} by the platform's name.
type Help struct {
	// On is the platform's name in sentences, such as "AWS" or "this machine".
	On          string
	Use         string
	Aliases     []string
	Short, Long string
	Example     string
	Args        cobra.PositionalArgs
}

// options is the implementation of a verb with its flags.
type options interface {
	addFlags(f *pflag.FlagSet)
	validate(args []string) error
	run(ctx context.Context) error
}

// verb defines a verb for all platforms.
type verb struct {
	help Help
	make func(s *term.Streams, p Platform) options
}

// allVerbs returns all verbs by name.
func allVerbs() map[Verb]verb {
	return map[Verb]verb{
		Up:          {upHelp(), func(s *term.Streams, p Platform) options { return &upOptions{newChanging(s, p, Up)} }},
		Plan:        {planHelp(), func(s *term.Streams, p Platform) options { return &planOptions{newSelected(s, p, Plan)} }},
		Doctor:      {doctorHelp(), func(s *term.Streams, p Platform) options { return &doctorOptions{newSelected(s, p, Doctor)} }},
		Status:      {statusHelp(), func(s *term.Streams, p Platform) options { return &statusOptions{newSelected(s, p, Status)} }},
		List:        {listHelp(), func(s *term.Streams, p Platform) options { return &listOptions{newSelected(s, p, List)} }},
		Logs:        {logsHelp(), func(s *term.Streams, p Platform) options { return newLogs(s, p) }},
		Credentials: {credentialsHelp(), func(s *term.Streams, p Platform) options { return &credentialsOptions{newSelected(s, p, Credentials)} }},
		Upgrade:     {upgradeHelp(), func(s *term.Streams, p Platform) options { return &upgradeOptions{newChanging(s, p, Upgrade)} }},
		Down:        {downHelp(), func(s *term.Streams, p Platform) options { return &downOptions{changing: newChanging(s, p, Down)} }},
		Adopt:       {adoptHelp(), func(s *term.Streams, p Platform) options { return &adoptOptions{newChanging(s, p, Adopt)} }},
	}
}

// Commands returns the commands of the verbs that a platform supports.
func Commands(s *term.Streams, p Platform) []*cobra.Command {
	var out []*cobra.Command
	for name, v := range allVerbs() {
		if own, found := p.Help(name); found {
			c := command(own.over(v.help, name, p.Name()), v.make(s, p))
			completeID(c, s, p)
			out = append(out, c)
		}
	}
	return out
}

// command returns the cobra command for options.
func command(h Help, o options) *cobra.Command {
	c := &cobra.Command{
		Use: h.Use, Aliases: h.Aliases, Short: h.Short, Long: h.Long, Example: h.Example, Args: h.Args,
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.validate(args); err != nil {
				return err
			}
			err := o.run(c.Context())
			if c.Flags().Lookup("yes") != nil {
				return exit.Continuing(err)
			}
			return err
		},
	}
	o.addFlags(c.Flags())
	return c
}

// over fills the empty fields of the platform's help with the help of the verb.
func (h Help) over(base Help, name Verb, platform string) Help {
	fill := strings.NewReplacer("{on}", h.On, "{name}", platform, "{NAME}", strings.ToUpper(platform))
	for _, at := range []struct{ own, base *string }{
		{&h.Use, &base.Use}, {&h.Short, &base.Short}, {&h.Long, &base.Long}, {&h.Example, &base.Example},
	} {
		if *at.own == "" {
			*at.own = fill.Replace(*at.base)
		}
	}
	if h.Use == "" {
		h.Use = string(name)
	}
	if h.Args == nil {
		h.Args = usage.Args()
	}
	return h
}

// schemaName returns the name of a JSON schema, such as "det-deploy.aws-list/v1".
func schemaName(p Platform, v Verb) string { return fmt.Sprintf("det-deploy.%s-%s/v1", p.Name(), v) }

// CheckID returns an error if a cluster ID is invalid.
func CheckID(id string) error {
	if spec.ValidCluster(id) {
		return nil
	}
	return usage.Errorf("--cluster-id: must have up to 31 lower-case letters, digits and inner hyphens, beginning with a letter (is %q)", id)
}

// CallLog returns a logger that writes every call to a platform to stderr, or nil unless verbose is set.
func CallLog(s *term.Streams, verbose bool) *slog.Logger {
	if !verbose {
		return nil
	}
	s.KeepLines()
	return slog.New(slog.NewTextHandler(s.Err, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// AddID declares --cluster-id.
func AddID(f *pflag.FlagSet, id *string, preset string) {
	f.StringVar(id, "cluster-id", preset, "cluster ID")
}
