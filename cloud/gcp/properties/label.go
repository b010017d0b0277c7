package properties

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// labelLimit is the maximum number of characters of a label's key and of its value.
const labelLimit = 63

// IsLabelKey reports whether key is a valid label key on Google Cloud. It may contain lowercase
// letters and letters of scripts without case. A regular expression for this would take 4 MB and a
// tenth of a command's startup time.
func IsLabelKey(key string) bool {
	first, _ := utf8.DecodeRuneInString(key)
	return unicode.In(first, unicode.Ll, unicode.Lo) && IsLabelValue(key)
}

// IsLabelValue reports whether value is a valid label value on Google Cloud. An empty value is
// valid.
func IsLabelValue(value string) bool {
	other := func(r rune) bool { return r != '-' && r != '_' && !unicode.In(r, unicode.Ll, unicode.Lo, unicode.N) }
	return utf8.RuneCountInString(value) <= labelLimit && !strings.ContainsFunc(value, other)
}

// CheckLabel returns an error if the key or the value of a label is invalid on Google Cloud.
func CheckLabel(key, value string) error {
	if IsLabelKey(key) && IsLabelValue(value) {
		return nil
	}
	return fmt.Errorf("label %s=%s: must have at most 63 lowercase letters, digits, dashes and underscores each, and a key must begin with a letter", key, value)
}

// ReservedLabels returns the labels that det-deploy sets on every machine of a pool. The last three
// are those of Determined 0.38.1.
func ReservedLabels() []string {
	return []string{
		"det-deploy-cluster", "det-deploy-pool", "det-deploy-launch",
		"determined-master-host", "determined-master-port", "determined-resource-pool",
	}
}

// ReservedMetadata returns the metadata keys that det-deploy sets on every machine of a pool. The
// key for guest attributes is not reserved, because users may enable them for other purposes.
func ReservedMetadata() []string {
	return []string{"startup-script", "determined-master-address", "det-deploy-pool", "det-deploy-launch", "det-deploy-type"}
}
