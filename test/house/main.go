// Command house prints figures about the code base: the length of files and functions, crowded
// packages, names of one word, and types with many methods. `make house` runs it; it has no limits
// and never fails for a figure.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// Limits above which a package or type is listed.
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
		os.Exit(1) //nolint:forbidigo // this is main
	}
	c.print(os.Stdout)
}

func (c census) print(out io.Writer) {
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) } // the figures are lost if the terminal is gone
	line("product lines                 %d in %d files, median %d", sum(c.files), len(c.files), median(c.files))
	line("functions                     %d, median %d lines", len(c.functions), median(c.functions))
	line("  with a name of one word     %d %%", 100*c.oneWord/max(1, len(c.functions)))
	crowded := above(c.packages, manyFiles)
	line("packages above %d files       %d: %s", manyFiles, len(crowded), strings.Join(crowded, ", "))
	large := above(c.methods, manyMethods)
	line("types above %d methods        %d: %s", manyMethods, len(large), strings.Join(large, ", "))
}
