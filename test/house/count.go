package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// census holds the counts of the code base.
type census struct {
	files     []int // lines of each
	functions []int // lines of each
	oneWord   int   // functions with names of one word
	packages  map[string]int
	methods   map[string]int // by type
}

// count reads the product's code below root, without tests and generated files.
func count(root string) (census, error) {
	c := census{packages: map[string]int{}, methods: map[string]int{}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() && isLeftOut(rel) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		return c.addFile(path, filepath.ToSlash(filepath.Dir(rel)))
	})
	return c, err
}

// isLeftOut reports whether a directory is not part of the product.
func isLeftOut(rel string) bool {
	name := filepath.Base(rel)
	return rel != "." && strings.HasPrefix(name, ".") || rel == "test" || name == "testdata"
}

func (c *census) addFile(path, pkg string) error {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	if ast.IsGenerated(f) {
		return nil
	}
	line := func(p token.Pos) int { return set.Position(p).Line }
	c.files = append(c.files, line(f.FileEnd))
	c.packages[pkg]++
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			c.addFunction(fn, pkg, line(fn.End())-line(fn.Pos())+1)
		}
	}
	return nil
}

func (c *census) addFunction(fn *ast.FuncDecl, pkg string, lines int) {
	c.functions = append(c.functions, lines)
	if wordsIn(fn.Name.Name) == 1 {
		c.oneWord++
	}
	if fn.Recv != nil {
		c.methods[pkg+"."+typeName(fn.Recv.List[0].Type)]++
	}
}

// typeName returns the name of a receiver's type, without pointer and type parameters.
func typeName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return typeName(x.X)
	case *ast.IndexExpr:
		return typeName(x.X)
	case *ast.IndexListExpr:
		return typeName(x.X)
	case *ast.Ident:
		return x.Name
	}
	return "?"
}

// wordsIn counts the words of a name: a capital after a small letter begins one, and so does the
// last of several capitals before a small letter (HTTPServer has two).
func wordsIn(name string) int {
	n, runes := 1, []rune(strings.Trim(name, "_"))
	for i := 1; i < len(runes); i++ {
		afterSmall := !unicode.IsUpper(runes[i-1])
		beforeSmall := i+1 < len(runes) && unicode.IsLower(runes[i+1])
		if unicode.IsUpper(runes[i]) && (afterSmall || beforeSmall) {
			n++
		}
	}
	return n
}

// above returns the names with a count over limit, in descending order.
func above(counts map[string]int, limit int) []string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	var out []string
	for _, name := range names {
		if counts[name] > limit {
			out = append(out, fmt.Sprintf("%s %d", name, counts[name]))
		}
	}
	return out
}

func median(of []int) int {
	if len(of) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(of))[len(of)/2]
}

func sum(of []int) int {
	n := 0
	for _, x := range of {
		n += x
	}
	return n
}
