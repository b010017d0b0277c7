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

// wrongFlag gives pflag's complaint about a flag of c the words of ours.
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

// flagValues is what flags of a type take; the other types say it themselves.
func flagValues() map[string]string {
	return map[string]string{
		"int": "a whole number", "int32": "a whole number", "int64": "a whole number", "uint": "a whole number, 0 or more",
		"float64": "a number", "bool": "true or false", "duration": "a duration such as 90s, 10m or 2h",
	}
}

// mostNear is how many flags are offered: more is a list that --help has too.
const mostNear = 3

// nearFlags lists the flags that an unknown name may have been meant for: those a slip
// away, else those that it says in more or fewer words, as --agent-instance-type does
// --instance-type.
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

// maxTypos is how many letters of a name may be wrong.
func maxTypos(name string) int { return min(2, 1+len(name)/5) }

// bareName is a name without what is between its words: --keypair is --key-pair.
func bareName(name string) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name))
}

// sharedWords counts the words of two names where one has all of the other's.
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
