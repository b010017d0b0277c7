package tree

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// fitHelp makes the help pages fit a terminal with a number of columns; 0 is none.
func fitHelp(root *cobra.Command, columns int) {
	page := strings.ReplaceAll(root.UsageTemplate(), "for more information about a command.", "for details.")
	root.SetUsageTemplate(page)
	if columns == 0 {
		return
	}
	root.SetUsageTemplate(strings.ReplaceAll(page, ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", columns)))
	walkCommands(root, func(c *cobra.Command) { c.Long = term.WrapText(c.Long, columns) })
}
