package document

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// isSimple is what Encode makes of scalars that need no quotes, without its detour
// over a parser: encoding a configuration was a sixth of what the master did for
// a short task. Nil leaves the value to Encode.
func isSimple(v any) *yaml.Node {
	switch v := v.(type) {
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v)}
	case int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(v)}
	case string:
		if isPlain(v) {
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v}
		}
	}
	return nil
}

// isPlain says that a string is certainly taken for nothing else by any YAML
// reader: it starts with a letter or a slash, has only letters, digits and
// / _ - . in it, and is not a keyword of YAML 1.1.
func isPlain(s string) bool {
	for i, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '/':
		case i > 0 && ('0' <= c && c <= '9' || c == '_' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	switch strings.ToLower(s) {
	case "", "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return false
	}
	return true
}
