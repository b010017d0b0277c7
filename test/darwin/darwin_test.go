// Package darwin_test checks that det-deploy compiles for macOS, on Linux and without a compiler run.
package darwin_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/det-deploy/det-deploy/test/installed"
)

// TestTypesAreRightOnDarwin checks the types of the program, and of the tool of `make image`. It leaves out the
// bodies of other modules' functions, which takes seconds where compiling takes minutes.
func TestTypesAreRightOnDarwin(t *testing.T) {
	t.Parallel()
	root := installed.InProject()
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax,
		Dir:  root,
		Env:  append(os.Environ(), "GOOS=darwin", "GOARCH=arm64", "CGO_ENABLED=0"),
		ParseFile: func(files *token.FileSet, name string, src []byte) (*ast.File, error) {
			f, err := parser.ParseFile(files, name, src, parser.SkipObjectResolution)
			if f != nil && !strings.HasPrefix(name, root) {
				dropBodies(f)
			}
			return f, err
		},
	}, "./cmd/det-deploy", "./test/image")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	packages.Visit(loaded, nil, func(p *packages.Package) {
		if !strings.HasPrefix(p.PkgPath, "github.com/det-deploy/") {
			return
		}
		checked++
		for _, e := range p.Errors {
			t.Error(e)
		}
	})
	if checked < 100 {
		t.Errorf("only %d packages were checked", checked)
	}
}

func dropBodies(f *ast.File) {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			fn.Body = nil
		}
	}
}
