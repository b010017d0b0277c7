package document

import (
	"fmt"
	"io"
	"strings"
)

// WriteReference writes the reference page of a document: one row a key, with
// the flag and variable that set it.
func WriteReference(w io.Writer, title string, entries []Entry, overrides []Override) error {
	by := map[string]Override{}
	for _, o := range overrides {
		by[o.Path] = o
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", title)
	b.WriteString("Generated from the types that read the file. `[]` is any entry of a list, `<name>` any\n" +
		"key of a mapping, and `(aws)` for keys that only this type has. A flag wins over its variable, the\n" +
		"variable over the file.\n\n")
	b.WriteString("| key | value | default | meaning | flag, variable |\n|---|---|---|---|---|\n")
	for _, e := range entries {
		given := ""
		if o, ok := by[e.Path]; ok {
			given = fmt.Sprintf("`--%s`, `%s`", o.Flag, o.Env)
		}
		def := e.Default
		if def != "" {
			def = "`" + def + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", e.Path, e.Kind, def, strings.ReplaceAll(e.Doc, "|", "\\|"), given)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
