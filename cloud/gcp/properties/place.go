package properties

import (
	"reflect"

	"google.golang.org/api/compute/v1"
)

// IsProperty reports whether a machine's properties have a key.
func IsProperty(key string) bool {
	return fieldsOf(reflect.TypeFor[compute.InstanceProperties]())[key] != ""
}

// IsDiskProperty reports whether a disk among them has a key.
func IsDiskProperty(key string) bool {
	return fieldsOf(reflect.TypeFor[compute.AttachedDisk]())[key] != ""
}
