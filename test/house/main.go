// Command house prints the figures that the code base is held to: how long files and
// functions are, how many packages are crowded, how many names say one word only, and
// which types do too much. `make house` runs it; it judges nothing.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// The bounds above which a thing is named.
const (
	manyFiles   = 15
	manyMethods = 40
)

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	c, err := count(root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1) //nolint:forbidigo // only main exits, and this is main
	}
	c.print(os.Stdout)
}

func (c census) print(out io.Writer) {
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) } // a terminal that is gone reads no figures
	line("product lines                 %d in %d files, median %d", sum(c.files), len(c.files), median(c.files))
	line("functions                     %d, median %d lines", len(c.functions), median(c.functions))
	line("  with a name of one word     %d %%", 100*c.oneWord/max(1, len(c.functions)))
	crowded := above(c.packages, manyFiles)
	line("packages above %d files       %d: %s", manyFiles, len(crowded), strings.Join(crowded, ", "))
	large := above(c.methods, manyMethods)
	line("types above %d methods        %d: %s", manyMethods, len(large), strings.Join(large, ", "))
}
