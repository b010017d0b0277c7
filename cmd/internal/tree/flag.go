package tree

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/internal/document/naming"
)

// wrongFlag rewords an error of pflag about a flag of c and adds suggestions.
func wrongFlag(c *cobra.Command, err error) error {
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok && e.GetSpecifiedShortnames() == "" {
		if near := nearFlags(c.Flags(), e.GetSpecifiedName()); len(near) > 0 {
			return fmt.Errorf("%w, did you mean %s?", err, strings.Join(near, " or "))
		}
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if must := flagValues()[e.GetFlag().Value.Type()]; must != "" {
			return fmt.Errorf("--%s: must be %s (is %q)", e.GetFlag().Name, must, e.GetValue())
		}
	}
	return err
}

// flagValues describes the valid values of flag types. Other types return suitable errors themselves.
func flagValues() map[string]string {
	return map[string]string{
		"int": "a whole number", "int32": "a whole number", "int64": "a whole number", "uint": "a whole number, 0 or more",
		"float64": "a number", "bool": "true or false", "duration": "a duration such as 90s, 10m or 2h",
	}
}

// mostNear is the maximum number of suggested flags. A longer list would be no better than --help.
const mostNear = 3

// nearFlags returns suggestions for an unknown flag: flags with a similar spelling, or else flags that
// share its words, such as --instance-type for --agent-instance-type.
func nearFlags(flags *pflag.FlagSet, name string) []string {
	var slips, words []string
	best, most := maxTypos(name)+1, 0
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		if d := naming.Distance(bareName(name), bareName(f.Name)); d < best {
			best, slips = d, []string{"--" + f.Name}
		} else if d == best && d <= maxTypos(name) {
			slips = append(slips, "--"+f.Name)
		}
		if n := sharedWords(name, f.Name); n > most {
			most, words = n, []string{"--" + f.Name}
		} else if n == most && n > 0 {
			words = append(words, "--"+f.Name)
		}
	})
	if len(slips) == 0 {
		slips = words
	}
	if len(slips) > mostNear {
		return nil
	}
	return slips
}

// maxTypos returns the number of wrong letters allowed in a name.
func maxTypos(name string) int { return min(2, 1+len(name)/5) }

// bareName returns a lower-case name without word separators, so that --keypair matches --key-pair.
func bareName(name string) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name))
}

// sharedWords returns the number of words in the shorter of two names if the other name contains all of
// them, or else 0.
func sharedWords(a, b string) int {
	x, y := wordsOf(a), wordsOf(b)
	if len(x) > len(y) {
		x, y = y, x
	}
	for _, w := range x {
		if !slices.Contains(y, w) {
			return 0
		}
	}
	return len(x)
}

func wordsOf(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '-' || r == '_' })
}
