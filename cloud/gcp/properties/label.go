package properties

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// labelLimit is how many characters a label's key may have, and its value.
const labelLimit = 63

// IsLabelKey reports whether Google takes a label's key. Letters may be of any alphabet
// that has no case, or in lower case. A regular expression for this takes 4 MB and a tenth
// of the time in which a command starts.
func IsLabelKey(key string) bool {
	first, _ := utf8.DecodeRuneInString(key)
	return unicode.In(first, unicode.Ll, unicode.Lo) && IsLabelValue(key)
}

// IsLabelValue reports whether Google takes a label's value, which may be empty.
func IsLabelValue(value string) bool {
	other := func(r rune) bool { return r != '-' && r != '_' && !unicode.In(r, unicode.Ll, unicode.Lo, unicode.N) }
	return utf8.RuneCountInString(value) <= labelLimit && !strings.ContainsFunc(value, other)
}

// CheckLabel refuses what Google does not take as a label.
func CheckLabel(key, value string) error {
	if IsLabelKey(key) && IsLabelValue(value) {
		return nil
	}
	return fmt.Errorf("label %s=%s: Google takes small letters, digits, dashes and underscores, at most 63, and a letter first in a key", key, value)
}

// ReservedLabels are the labels that every machine of a pool gets. The last three are what
// Determined 0.38.1 writes.
func ReservedLabels() []string {
	return []string{
		"det-deploy-cluster", "det-deploy-pool", "det-deploy-launch",
		"determined-master-host", "determined-master-port", "determined-resource-pool",
	}
}

// ReservedMetadata are the keys of metadata that every machine of a pool gets. Guest
// attributes may be on for other reasons, and are not among them.
func ReservedMetadata() []string {
	return []string{"startup-script", "determined-master-address", "det-deploy-pool", "det-deploy-launch", "det-deploy-type"}
}
