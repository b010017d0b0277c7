package gcptest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// ourOwn returns functions that report errors of the test, inject faults, or only construct errors.
func ourOwn() []string {
	return []string{"readCall", "act", "before", "injectOperation", "refuse", "invalid", "notFound", "exists", "conditionNotMet"}
}

// Each function that returns an error response must link to the page of Google's documentation that
// specifies it.
func TestErrorsLinkToDocumentation(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		source, err := os.ReadFile(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, e.Name(), source, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !refuses(f) || slices.Contains(ourOwn(), f.Name.Name) {
				continue
			}
			from := f.Pos()
			if f.Doc != nil {
				from = f.Doc.Pos()
			}
			text := source[files.Position(from).Offset:files.Position(f.End()).Offset]
			if !strings.Contains(string(text), "https://") {
				t.Errorf("%s: %s refuses something and names no page of the manual", e.Name(), f.Name.Name)
			}
		}
	}
}

// refuses reports whether a function constructs an error response.
func refuses(f *ast.FuncDecl) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch v := n.(type) {
		case *ast.CallExpr:
			name, ok := v.Fun.(*ast.Ident)
			found = found || ok && slices.Contains([]string{"refuse", "invalid", "wrongField"}, name.Name)
		case *ast.CompositeLit:
			name, ok := v.Type.(*ast.Ident)
			found = found || ok && (name.Name == "failure" || name.Name == "refusal")
		}
		return true
	})
	return found
}
