package pattern_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/det-deploy/det-deploy/pattern"
)

func TestAPatternMatches(t *testing.T) {
	p := pattern.New(`^(a+)-([0-9])$`)
	if !p.MatchString("aa-1") || p.MatchString("aa") {
		t.Error("the pattern matches something else than its text")
	}
	if m := p.FindStringSubmatch("aa-1"); len(m) != 3 || m[1] != "aa" || m[2] != "1" {
		t.Errorf("the groups are %q, want aa and 1", m)
	}
	if got := pattern.New(`[0-9]+`).FindString("a12b3"); got != "12" {
		t.Errorf("the first match is %q, want 12", got)
	}
	if got := pattern.New(`[0-9](.)`).ReplaceAllString("1a2b", "$1"); got != "ab" {
		t.Errorf("the replaced text is %q, want ab", got)
	}
	if p.String() != `^(a+)-([0-9])$` {
		t.Errorf("the text is %q", p)
	}
}

func TestAPatternIsAskedByMany(t *testing.T) {
	p := pattern.New(`^[a-z]{1,40}$`)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if !p.MatchString("name") {
				t.Error("the pattern does not match")
			}
		})
	}
	all.Wait()
}

// TestEachPatternOfTheProgramCompiles has what compiling at the start would tell: a text
// that means nothing is found before the program is.
func TestEachPatternOfTheProgramCompiles(t *testing.T) {
	packages, err := program()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for dir, files := range packages {
		texts := constants(files)
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				call, isCall := n.(*ast.CallExpr)
				if !isCall || name(call.Fun) != "pattern.New" || len(call.Args) != 1 {
					return true
				}
				seen++
				text, err := evaluate(call.Args[0], texts)
				if err == nil {
					_, err = regexp.Compile(text)
				}
				if err != nil {
					t.Errorf("%s: a pattern: %v", dir, err)
				}
				return true
			})
		}
	}
	if seen < 40 {
		t.Errorf("found %d patterns, want those of the program: do the tests look where they are?", seen)
	}
}

// TestNothingIsCompiledAtTheStart keeps regular expressions out of the variables of
// packages, where every command compiles all of them.
func TestNothingIsCompiledAtTheStart(t *testing.T) {
	packages, err := program()
	if err != nil {
		t.Fatal(err)
	}
	for dir, files := range packages {
		for _, f := range files {
			for _, d := range f.Decls {
				vars, isVars := d.(*ast.GenDecl)
				if !isVars {
					continue
				}
				ast.Inspect(vars, func(n ast.Node) bool {
					if _, isFunc := n.(*ast.FuncLit); isFunc {
						return false // compiled when it is called
					}
					if call, isCall := n.(*ast.CallExpr); isCall && name(call.Fun) == "regexp.MustCompile" {
						t.Errorf("%s compiles a regular expression at the start of every command; declare it with pattern.New", dir)
					}
					return true
				})
			}
		}
	}
}

// program is the program's source by directory, read once.
var program = sync.OnceValues(parsePackages)

// parsePackages leaves out tests and their helpers, which are not of the program.
func parsePackages() (map[string][]*ast.File, error) {
	root, set, all := "..", token.NewFileSet(), map[string][]*ast.File{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || strings.HasSuffix(d.Name(), "test") || d.Name() == "bin"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		all[filepath.Dir(path)] = append(all[filepath.Dir(path)], f)
		return nil
	})
	return all, err
}

// constants is what the constants of a package mean that are one text.
func constants(files []*ast.File) map[string]string {
	out := map[string]string{}
	for _, f := range files {
		for _, d := range f.Decls {
			decl, isDecl := d.(*ast.GenDecl)
			if !isDecl || decl.Tok != token.CONST {
				continue
			}
			for _, s := range decl.Specs {
				v, isValue := s.(*ast.ValueSpec)
				if !isValue || len(v.Names) != len(v.Values) {
					continue
				}
				for i, n := range v.Names {
					if text, err := evaluate(v.Values[i], nil); err == nil {
						out[n.Name] = text
					}
				}
			}
		}
	}
	return out
}

func evaluate(e ast.Expr, known map[string]string) (string, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return strconv.Unquote(e.Value)
	case *ast.Ident:
		if text, found := known[e.Name]; found {
			return text, nil
		}
		return "", fmt.Errorf("%s is no constant of the package that is one text", e.Name)
	case *ast.BinaryExpr:
		left, err := evaluate(e.X, known)
		if err != nil {
			return "", err
		}
		right, err := evaluate(e.Y, known)
		return left + right, err
	}
	return "", fmt.Errorf("%T is no text; write it as one, so that it can be read here", e)
}

// name is a function of a package as it is called: "regexp.MustCompile".
func name(fun ast.Expr) string {
	sel, isSel := fun.(*ast.SelectorExpr)
	if !isSel {
		return ""
	}
	if pkg, isIdent := sel.X.(*ast.Ident); isIdent {
		return pkg.Name + "." + sel.Sel.Name
	}
	return ""
}
