package checkpoint

import (
	"context"
	"fmt"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
)

// CheckReader refuses a user who may not read a checkpoint, and so may neither start from it nor register it.
func CheckReader(ctx context.Context, r store.Reader, by *apiv1.User, rec Record) error {
	x, found, err := record.Docs().Experiments.Get(ctx, r, record.Key(rec.Experiment))
	switch {
	case err != nil:
		return err
	case !found:
		return status.Missing("experiment", fmt.Sprint(rec.Experiment))
	}
	return x.Value.CheckReader(by, "the checkpoints")
}
