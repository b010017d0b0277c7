package wire

import (
	"context"
	"errors"

	"github.com/det-deploy/det-deploy/master/config"
)

// awsMachines are EC2 instances.
func (s site) awsMachines(_ context.Context, _ config.Pool) (machines, error) {
	return machines{}, errors.New("launching agents on AWS is not built yet")
}
