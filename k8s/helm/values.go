package helm

import (
	"fmt"

	"helm.sh/helm/v3/pkg/cli/values"

	"github.com/det-deploy/det-deploy/cloud"
)

// Given are values as flags give them, in Helm's own syntax. Files come first,
// then JSON, then plain, string, file and literal settings; later ones win.
type Given struct {
	// Files are --values, YAML documents; "-" is standard input.
	Files []string
	// Set, SetString, SetFile, SetJSON and SetLiteral are the flags of these names.
	Set, SetString, SetFile, SetJSON, SetLiteral []string
}

// Values merges what was given.
func Values(g Given) (map[string]any, error) {
	o := values.Options{
		ValueFiles: g.Files, Values: g.Set, StringValues: g.SetString,
		FileValues: g.SetFile, JSONValues: g.SetJSON, LiteralValues: g.SetLiteral,
	}
	out, err := o.MergeValues(nil) // no way to fetch a file from elsewhere
	if err != nil {
		return nil, &cloud.Error{
			Kind: cloud.Invalid, Op: "helm:values",
			Fix: "write --set as in --set db.type=embedded,masterPort=8080, and --values as the path of a YAML file",
			Err: fmt.Errorf("merge the values: %w", err),
		}
	}
	return out, nil
}
