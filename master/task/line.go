package task

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// longestLine is the maximum length of a command line in lists, in bytes.
const longestLine = 256

// commandLine returns the beginning of the entrypoint in a configuration, or "" if it has none.
func commandLine(config []byte) string {
	var c struct {
		Entrypoint json.RawMessage `json:"entrypoint"`
	}
	if json.Unmarshal(config, &c) != nil {
		return ""
	}
	var words []string
	var line string
	if json.Unmarshal(c.Entrypoint, &words) == nil {
		line = strings.Join(words, " ")
	} else if json.Unmarshal(c.Entrypoint, &line) != nil {
		return ""
	}
	if len(line) <= longestLine {
		return line
	}
	line = line[:longestLine]
	for !utf8.ValidString(line) {
		line = line[:len(line)-1]
	}
	return line + "…"
}
