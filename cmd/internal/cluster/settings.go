package cluster

import (
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/config"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/document"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// Settings are the flags and variables of a verb that describe a cluster.
type Settings struct {
	// Set is the flags as they were declared.
	Set *pflag.FlagSet

	table spec.Table
}

// Declare adds the flags of a table.
func (s *Settings) Declare(f *pflag.FlagSet, table spec.Table) {
	s.Set, s.table = f, table
	config.Declare(f, table.Overrides())
}

// ReadSettings returns what was given, with the content of files that were named. Nothing
// is given where no flag was declared.
func (s *Settings) ReadSettings() ([]document.Given, error) {
	given, err := config.Given(s.Set, s.table.Overrides())
	if err != nil {
		return nil, err
	}
	given, err = s.table.ReadFiles(given, os.ReadFile)
	return given, usage.Check(err)
}

// Arguments are the flags that give settings, of which a secret's says only where it is.
// What was given by variable is given by it again.
func (s *Settings) Arguments(given []document.Given) []string {
	var args []string
	for _, g := range given {
		switch flag, _ := s.table.Find(g.Path); {
		case !strings.HasPrefix(g.Source, "--"):
		case flag.Bool:
			args = append(args, g.Source+"="+g.Value)
		case flag.FromFile && s.Set != nil: // what is given is what was in it
			args = append(args, g.Source, s.Set.Lookup(flag.Flag).Value.String())
		default:
			args = append(args, g.Source, g.Value)
		}
	}
	return args
}
