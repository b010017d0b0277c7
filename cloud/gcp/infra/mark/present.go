package mark

import (
	"slices"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// KeepPresent removes listed objects that do not exist when they are looked up.
func KeepPresent(listed []resource.Found, get func(resource.Found) error) ([]resource.Found, error) {
	gone := make([]bool, len(listed))
	calls := make([]func() error, len(listed))
	for i, f := range listed {
		calls[i] = func() error {
			err := get(f)
			gone[i] = cloud.KindOf(err) == cloud.NotFound
			return infra.IgnoreMissing(err)
		}
	}
	if err := infra.SideBySide(calls...); err != nil {
		return nil, err
	}
	i := -1
	return slices.DeleteFunc(listed, func(resource.Found) bool { i++; return gone[i] }), nil
}
