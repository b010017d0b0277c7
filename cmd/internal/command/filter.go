package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// Filter defines a flag that selects the items with a text in a column. The flag has the name of the column.
type Filter struct {
	Column string
	// Words are all texts of the column, if they are few. The flag takes several of them.
	Words []string
	// Noun are the objects that the column names, for completion.
	Noun client.Noun
}

// filterFlag is the flag of a filter with its value.
type filterFlag struct {
	Filter

	one  string
	many []string
}

func (f *filterFlag) add(o *Remote, c *cobra.Command) {
	name := f.name()
	if len(f.Words) > 0 {
		AddWordsFlag(c, &f.many, name, f.Words)
		return
	}
	c.Flags().StringVar(&f.one, name, "", "show only this "+name)
	if f.Noun != "" {
		o.CompleteFlag(c, name, f.Noun)
	}
}

func (f *filterFlag) name() string { return strings.ToLower(f.Column) }

func (f *filterFlag) isSet() bool { return f.one != "" || len(f.many) > 0 }

// keeps reports whether an item with this cell is selected.
func (f *filterFlag) keeps(cell any) bool {
	text := fmt.Sprint(cell)
	return !f.isSet() || f.one != "" && f.one == text || slices.Contains(f.many, text)
}

// AddWordsFlag adds a flag that takes several of a few words, and completes them.
func AddWordsFlag(c *cobra.Command, to *[]string, name string, words []string) {
	c.Flags().StringSliceVar(to, name, nil, "show only these "+name+"s: "+strings.Join(words, ", "))
	CompleteWords(c, name, words...)
}

// CheckWords returns a usage error unless the values of a flag are some of its words.
func CheckWords(flag string, given, words []string) error {
	for _, text := range given {
		if !slices.Contains(words, text) {
			return usage.Errorf("--%s %s: must be one of %s", flag, text, strings.Join(words, ", "))
		}
	}
	return nil
}
