package cmd_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/cmd"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// tree returns every command except those that cobra adds.
func tree(t *testing.T) []*cobra.Command {
	t.Helper()
	s, _, _ := term.Test("", false)
	var all []*cobra.Command
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Name() == "completion" || c.Name() == "help" {
			return
		}
		all = append(all, c)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(cmd.New(s))
	return all
}

func TestEveryCommandExplainsItself(t *testing.T) {
	t.Parallel()
	for _, c := range tree(t) {
		short := []rune(c.Short)
		switch {
		case len(short) == 0:
			t.Errorf("%s: Short is empty", c.CommandPath())
		case !unicode.IsUpper(short[0]):
			t.Errorf("%s: Short does not start with a capital: %q", c.CommandPath(), c.Short)
		case short[len(short)-1] == '.':
			t.Errorf("%s: Short ends in a full stop: %q", c.CommandPath(), c.Short)
		}
		if !strings.Contains(c.Example, "det-deploy") {
			t.Errorf("%s: there is no Example", c.CommandPath())
		}
		if !c.HasSubCommands() && c.Args == nil && !takesRest(c) {
			t.Errorf("%s: Args is not set, so that wrong arguments pass unnoticed", c.CommandPath())
		}
	}
}

// takesRest reports whether the command validates its arguments itself.
func takesRest(c *cobra.Command) bool { return strings.Contains(c.Use, "…]") }

func TestExamplesNameCommandsThatExist(t *testing.T) {
	t.Parallel()
	all := tree(t)
	for _, c := range all {
		for line := range strings.Lines(c.Example) {
			if fault := faultOf(all[0], line); fault != "" {
				t.Errorf("%s: the example %q %s", c.CommandPath(), strings.TrimSpace(line), fault)
			}
		}
	}
}

// A shorthand means the same flag in every command, except for former spellings, which the help does not show.
func TestShorthandsMeanOneFlag(t *testing.T) {
	t.Parallel()
	first := map[string]string{}
	for _, c := range tree(t) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Shorthand == "" || f.ShorthandDeprecated != "" {
				return
			}
			if old, found := first[f.Shorthand]; found && old != f.Name {
				t.Errorf("-%s is --%s in %s, and --%s elsewhere", f.Shorthand, f.Name, c.CommandPath(), old)
			}
			first[f.Shorthand] = f.Name
		})
	}
}

// kindOf returns the type of a flag. A filter may take several values of a flag that elsewhere takes one.
func kindOf(f *pflag.Flag) string { return strings.TrimSuffix(f.Value.Type(), "Slice") }

func TestSharedFlagsHaveOneNameTypeAndText(t *testing.T) {
	t.Parallel()
	type seen struct {
		by   string
		flag *pflag.Flag
	}
	first := map[string]seen{}
	for _, c := range tree(t) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if strings.Contains(f.Usage, "(DET_") {
				return // the flag of a setting is named after its path
			}
			old, ok := first[f.Name]
			if !ok {
				first[f.Name] = seen{c.CommandPath(), f}
				return
			}
			if kindOf(f) != kindOf(old.flag) && f.Name != "output" { // its type lists the formats of the command
				t.Errorf("--%s is %s in %s and %s in %s", f.Name, f.Value.Type(), c.CommandPath(), old.flag.Value.Type(), old.by)
			}
			if f.Shorthand != old.flag.Shorthand {
				t.Errorf("--%s is -%s in %s and -%s in %s", f.Name, f.Shorthand, c.CommandPath(), old.flag.Shorthand, old.by)
			}
		})
	}
	for _, name := range []string{"master", "output", "password-stdin", "dry-run", "yes", "cluster-id"} {
		for _, c := range tree(t) {
			if f := c.Flags().Lookup(name); f != nil && f.Usage != first[name].flag.Usage {
				t.Errorf("--%s: %q in %s, %q in %s", name, f.Usage, c.CommandPath(), first[name].flag.Usage, first[name].by)
			}
		}
	}
}
