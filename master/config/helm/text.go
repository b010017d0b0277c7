package helm

import (
	"encoding/json"

	"github.com/det-deploy/det-deploy/internal/document"
)

// Text is a secret that stands in the values themselves. A number counts as its
// digits: YAML takes a password of digits for one.
type Text struct{ document.Secret }

// UnmarshalDocument reads any scalar.
func (t *Text) UnmarshalDocument(v document.Value) {
	if !v.IsText() {
		v.Complain("must be text", "")
		return
	}
	t.Secret = document.NewSecret(v.Text())
}

// isDisabled says that a part is switched off by its own word.
func isDisabled(part document.Raw) bool {
	var o struct {
		Enabled *bool `json:"enabled"`
	}
	if json.Unmarshal(part.JSON(), &o) != nil {
		return false
	}
	var all map[string]any
	_ = json.Unmarshal(part.JSON(), &all) // it was readable a line above
	_, says := all["enabled"]
	return says && (o.Enabled == nil || !*o.Enabled)
}
