package helm

import (
	"encoding/json"

	"github.com/det-deploy/det-deploy/internal/document"
)

// Text is a secret in plain text in the values. It accepts numbers, because YAML parses a password
// of digits as one.
type Text struct{ document.Secret }

// UnmarshalDocument reads any scalar.
func (t *Text) UnmarshalDocument(v document.Value) {
	if !v.IsText() {
		v.Complain("must be text", "")
		return
	}
	t.Secret = document.NewSecret(v.Text())
}

// isDisabled reports whether a part has enabled: false.
func isDisabled(part document.Raw) bool {
	var o struct {
		Enabled *bool `json:"enabled"`
	}
	if json.Unmarshal(part.JSON(), &o) != nil {
		return false
	}
	var all map[string]any
	_ = json.Unmarshal(part.JSON(), &all) // it was parsed above
	_, says := all["enabled"]
	return says && (o.Enabled == nil || !*o.Enabled)
}
