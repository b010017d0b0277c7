package fleet

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/det-deploy/det-deploy/cloud"
)

// chunk is the number of instances per call. EC2 accepts 1,000 and recommends fewer, because a call
// fails or succeeds as a whole.
const chunk = 100

// Terminate implements cloud.Instances. It continues with the remaining chunks if one fails.
func (f *Fleet) Terminate(ctx context.Context, ids []cloud.InstanceID) error {
	var errs []error
	for part := range slices.Chunk(ids, chunk) {
		errs = append(errs, f.terminateInstances(ctx, part))
	}
	return errors.Join(errs...)
}

// terminateInstances terminates instances in one call. If one of them no longer exists, EC2 rejects
// the whole call. It then bisects the list until the missing instance is alone, and ignores that
// error.
func (f *Fleet) terminateInstances(ctx context.Context, ids []cloud.InstanceID) error {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(id)
	}
	_, err := f.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: names})
	if cloud.KindOf(err) != cloud.NotFound {
		return err
	}
	if len(ids) == 1 {
		return nil
	}
	half := len(ids) / 2
	return errors.Join(f.terminateInstances(ctx, ids[:half]), f.terminateInstances(ctx, ids[half:]))
}
