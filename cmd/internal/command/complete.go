package command

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// completionTime limits the lookup of a completion: a shell waits for it, and for the start of the program.
const completionTime = 120 * time.Millisecond

const (
	// completionMost is the number of offered completions.
	completionMost = 50
	// completionSought is the number of objects among which those are found that have not ended.
	completionSought = 200
)

// completeArgs completes the arguments of a command: with the objects that they name.
func (o *Remote) completeArgs(c *cobra.Command, args []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
	noun := o.nounOf(len(args))
	words := len(strings.Fields(c.Use)) - 1
	if noun == "" || len(args) >= words && !strings.Contains(c.Use, "…") {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return o.complete(c.Context(), noun, text), cobra.ShellCompDirectiveNoFileComp
}

// CompleteFlag makes a flag of the command complete with the objects that it names.
func (o *Remote) CompleteFlag(c *cobra.Command, flag string, noun client.Noun) {
	// It fails only for an unknown or a completed flag.
	_ = c.RegisterFlagCompletionFunc(flag, func(c *cobra.Command, _ []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return o.complete(c.Context(), noun, text), cobra.ShellCompDirectiveNoFileComp
	})
}

// CompleteWords makes a flag of the command complete with a few words.
func CompleteWords(c *cobra.Command, flag string, words ...string) {
	// It fails only for an unknown or a completed flag.
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// complete returns the objects that text may stand for. It is silent if no master answers in time.
func (o *Remote) complete(ctx context.Context, noun client.Noun, text string) []cobra.Completion {
	master, err := o.DialMaster()
	if err != nil {
		return nil
	}
	defer master.Close()
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	sought := completionMost
	if o.Open {
		sought = completionSought
	}
	list, _, err := master.Names(ctx, noun, text, sought)
	if err != nil {
		return nil
	}
	if o.Open {
		list = slices.DeleteFunc(list, hasEnded)
	}
	return completions(list[:min(len(list), completionMost)], text)
}

// hasEnded reports whether an object has a state in which it is over.
func hasEnded(x *apiv1.Name) bool {
	return slices.Contains(append(apiv1.EndStatuses(), apiv1.StatusStoppedEarly), apiv1.StatusOf(x.GetState()))
}

// completions returns what to offer for the objects: the ID, or else the name or the task that continues
// text, with the rest as description. A name with characters that a shell interprets is not offered.
func completions(list []*apiv1.Name, text string) []cobra.Completion {
	var out []cobra.Completion
	for _, x := range list {
		words := []string{x.GetId(), x.GetName(), pathOf(x), x.GetTaskId()}
		at := slices.IndexFunc(words, func(word string) bool { return strings.HasPrefix(word, text) })
		if at < 0 {
			continue
		}
		word, rest := words[at], x.GetId()
		if at == 0 {
			rest = x.GetName()
		}
		if !strings.ContainsAny(word, " \t\n'\"\\$`()[]{}<>|&;*?!#~") {
			out = append(out, cobra.CompletionWithDesc(word, joinWords(rest, x.GetUsername(), x.GetState())))
		}
	}
	return out
}
