package helm

import (
	"errors"
	"fmt"
	"io/fs"

	"helm.sh/helm/v3/pkg/cli/values"

	"github.com/det-deploy/det-deploy/cloud"
)

// Given contains the values of flags, in Helm's syntax. The order of precedence is: files, then
// JSON, plain, string, file and literal settings; later ones override earlier ones.
type Given struct {
	// Files are --values, YAML documents; "-" is standard input.
	Files []string
	// Set, SetString, SetFile, SetJSON and SetLiteral are the flags of these names.
	Set, SetString, SetFile, SetJSON, SetLiteral []string
}

// Values merges the given values.
func Values(g Given) (map[string]any, error) {
	o := values.Options{
		ValueFiles: g.Files, Values: g.Set, StringValues: g.SetString,
		FileValues: g.SetFile, JSONValues: g.SetJSON, LiteralValues: g.SetLiteral,
	}
	out, err := o.MergeValues(nil) // nil getters: remote files are not supported
	if err != nil {
		return nil, &unreadableError{&cloud.Error{
			Kind: cloud.Invalid, Op: "helm:values",
			Fix: `write --set as in --set db.type=embedded,masterPort=8080 with \, for a comma within a value, and --values as the path of a YAML file`,
			Err: unreadableFlag(g, err),
		}}
	}
	return out, nil
}

// unreadableError is returned for values that cannot be parsed.
type unreadableError struct{ cause *cloud.Error }

func (e *unreadableError) Error() string { return e.cause.Error() }
func (e *unreadableError) Unwrap() error { return e.cause }

// FromFlags returns true, because the values are given on the command line.
func (*unreadableError) FromFlags() bool { return true }

// unreadableFlag names the flag that cannot be parsed. It omits Helm's own error, which quotes the
// value, possibly a secret.
func unreadableFlag(g Given, err error) error {
	if missing, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("read the values: %w", missing)
	}
	for _, file := range g.Files {
		if file == "-" {
			continue // already consumed
		}
		if mergeFails(values.Options{ValueFiles: []string{file}}) {
			return fmt.Errorf("read the values of %s: it is not a YAML mapping of names to values", file)
		}
	}
	for _, f := range []struct {
		name  string
		given []string
		alone func(string) values.Options
	}{
		{"--set-json", g.SetJSON, func(v string) values.Options { return values.Options{JSONValues: []string{v}} }},
		{"--set", g.Set, func(v string) values.Options { return values.Options{Values: []string{v}} }},
		{"--set-string", g.SetString, func(v string) values.Options { return values.Options{StringValues: []string{v}} }},
		{"--set-file", g.SetFile, func(v string) values.Options { return values.Options{FileValues: []string{v}} }},
		{"--set-literal", g.SetLiteral, func(v string) values.Options { return values.Options{LiteralValues: []string{v}} }},
	} {
		for i, v := range f.given {
			if o := f.alone(v); mergeFails(o) {
				return fmt.Errorf("read the values: %s number %d cannot be read", f.name, i+1)
			}
		}
	}
	return errors.New("read the values: one contradicts another, or standard input is not a YAML mapping of names to values")
}

func mergeFails(o values.Options) bool {
	_, err := o.MergeValues(nil)
	return err != nil
}
