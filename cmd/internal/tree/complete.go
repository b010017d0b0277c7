package tree

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

// completeWords makes completion offer the values of flags that list them, and file names only for
// arguments that are files or programs.
func completeWords(c *cobra.Command) {
	if c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 && !takesFiles(c.Use) {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if _, has := c.GetFlagCompletionFunc(f.Name); has {
			return
		}
		values := usage.Words(f)
		if len(values) == 0 {
			values = strings.Split(f.Value.Type(), "|")
		}
		if len(values) < 2 {
			if !namesFiles(f.Name + " " + f.Usage) {
				_ = c.RegisterFlagCompletionFunc(f.Name, cobra.NoFileCompletions) // as below
			}
			return
		}
		for i := range values {
			values[i] = strings.TrimSuffix(values[i], "…") // an expression follows
		}
		// It fails only for an unknown or a completed flag.
		_ = c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	})
}

// namesFiles reports whether a flag with this name and text takes a file or a directory.
func namesFiles(text string) bool {
	for _, word := range []string{"file", "director", "path", "program", "socket", "HOST:", "binary", "PEM", "yaml", "wheel"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

func takesFiles(use string) bool {
	return strings.Contains(use, "FILE") || strings.Contains(use, "COMMAND")
}
