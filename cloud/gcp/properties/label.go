package properties

import (
	"fmt"
	"regexp"
)

var (
	keyForm   = regexp.MustCompile(`^[\p{Ll}\p{Lo}][-_\p{Ll}\p{Lo}\p{N}]{0,62}$`)
	valueForm = regexp.MustCompile(`^[-_\p{Ll}\p{Lo}\p{N}]{0,63}$`)
)

// CheckLabel refuses what Google does not take as a label.
func CheckLabel(key, value string) error {
	if keyForm.MatchString(key) && valueForm.MatchString(value) {
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
