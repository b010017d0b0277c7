package aws

import (
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/det-deploy/det-deploy/document"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// printEquivalent shows the command line that says the same.
func (c *completion) printEquivalent() {
	c.Notef("")
	c.Notef("Equivalent command:")
	c.Notef("")
	c.Notef("  %s", c.w.commandLine(c.given.Flags))
	c.Notef("")
}

// commandLine is a command line that gives flags, of which a secret's says only where it
// is. What was given by variable is given by it again.
func (w *wanted) commandLine(flags []document.Given) string {
	args := []string{"det-deploy", "aws", "up", "--cluster-id", w.Cluster}
	if w.Profile != "" {
		args = append(args, "--profile", w.Profile)
	}
	if w.File != "" {
		args = append(args, "--config-file", w.File)
	}
	for _, b := range w.Binaries {
		args = append(args, "--binary", b)
	}
	for _, f := range flags {
		switch flag, _ := spec.AWSFlags().Find(f.Path); {
		case !strings.HasPrefix(f.Source, "--"):
		case flag.Bool:
			args = append(args, f.Source+"="+f.Value)
		case flag.FromFile && w.Set != nil: // what is given is what was in it
			args = append(args, f.Source, w.Set.Lookup(flag.Flag).Value.String())
		default:
			args = append(args, f.Source, f.Value)
		}
	}
	return shellescape.QuoteCommand(args)
}
