package properties

import (
	"reflect"

	"google.golang.org/api/compute/v1"
)

// IsProperty reports whether key is a field of InstanceProperties.
func IsProperty(key string) bool {
	return fieldsOf(reflect.TypeFor[compute.InstanceProperties]())[key] != ""
}

// IsDiskProperty reports whether key is a field of an attached disk.
func IsDiskProperty(key string) bool {
	return fieldsOf(reflect.TypeFor[compute.AttachedDisk]())[key] != ""
}
