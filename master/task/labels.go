package task

import (
	"regexp"
	"slices"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
)

// MostLabels is the maximum number of labels of a task.
const MostLabels = 16

// The characters and lengths of labels are those of Kubernetes: a name of at most 63 characters, for keys
// after an optional DNS name and a slash.
var (
	labelName   = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	labelPrefix = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/`)
)

// CheckLabels returns an error with the code InvalidArgument if labels are invalid.
func CheckLabels(labels map[string]string) error {
	if len(labels) > MostLabels {
		return status.New(status.InvalidArgument, "labels: at most %d are allowed (are %d)", MostLabels, len(labels))
	}
	for key, value := range labels {
		name := key[len(labelPrefix.FindString(key)):]
		if !labelName.MatchString(name) {
			return status.New(status.InvalidArgument, "labels: the key %q must be at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit, optionally after a DNS name and '/'", excerpt.Of(key))
		}
		if value != "" && !labelName.MatchString(value) {
			return status.New(status.InvalidArgument, "labels: the value %q of %s must be empty or at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit", excerpt.Of(value), key)
		}
	}
	return nil
}

// labelTexts returns labels in the form key=value, in order.
func labelTexts(labels map[string]string) []string {
	out := make([]string, 0, len(labels))
	for key, value := range labels {
		out = append(out, key+"="+value)
	}
	slices.Sort(out)
	return out
}
