// Command house prints the figures that the code base is held to: how long files and
// functions are, how many packages are crowded, how many names say one word only, and
// which types do too much. `make house` runs it; it judges nothing.
package main

import (
	"fmt"
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
		os.Exit(1)
	}
	c.print()
}

func (c census) print() {
	fmt.Printf("product lines                 %d in %d files, median %d\n", sum(c.files), len(c.files), median(c.files))
	fmt.Printf("functions                     %d, median %d lines\n", len(c.functions), median(c.functions))
	fmt.Printf("  with a name of one word     %d %%\n", 100*c.oneWord/max(1, len(c.functions)))
	crowded := above(c.packages, manyFiles)
	fmt.Printf("packages above %d files       %d: %s\n", manyFiles, len(crowded), strings.Join(crowded, ", "))
	large := above(c.methods, manyMethods)
	fmt.Printf("types above %d methods        %d: %s\n", manyMethods, len(large), strings.Join(large, ", "))
}
