package command

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// completionTime limits the lookup of a completion: a shell waits for it.
const completionTime = 200 * time.Millisecond

// completionMost is the number of offered completions.
const completionMost = 50

// completer returns the completion of a command's arguments: of the objects that they name.
// A completion is silent if no master answers in time.
func completer(n client.Noun, dial func() (*client.Client, error)) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 && !strings.Contains(c.Use, "…") {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		master, err := dial()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer master.Close()
		ctx, cancel := context.WithTimeout(c.Context(), completionTime)
		defer cancel()
		list, _, err := master.Names(ctx, n, text, completionMost)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completions(list, text), cobra.ShellCompDirectiveNoFileComp
	}
}

// completions returns what to offer for the objects: the ID, or the name if only the name continues
// text, with the rest as description. A name with characters that a shell interprets is not offered.
func completions(list []*apiv1.Name, text string) []cobra.Completion {
	var out []cobra.Completion
	for _, x := range list {
		word, rest := x.GetId(), x.GetName()
		if !strings.HasPrefix(word, text) {
			word, rest = rest, word
		}
		if !strings.HasPrefix(word, text) {
			word = pathOf(x)
		}
		if strings.HasPrefix(word, text) && !strings.ContainsAny(word, " \t\n'\"\\$`()[]{}<>|&;*?!#~") {
			out = append(out, cobra.CompletionWithDesc(word, joinWords(rest, x.GetUsername(), x.GetState())))
		}
	}
	return out
}
