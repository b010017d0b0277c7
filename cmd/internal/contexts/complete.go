package contexts

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// Completer returns the completion of the name of a context.
func Completer(s *term.Streams) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
		f, err := Default(s.Getenv)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		b, err := f.Load()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []cobra.Completion
		for _, c := range b.Contexts {
			if strings.HasPrefix(c.Name, text) {
				out = append(out, cobra.CompletionWithDesc(c.Name, c.Master))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}
