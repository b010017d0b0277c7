package fleet

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/det-deploy/det-deploy/cloud"
)

// chunk is how many machines one call removes. EC2 takes 1,000 and asks for
// fewer, because a call fails or succeeds as a whole.
const chunk = 100

// Terminate implements cloud.Instances. A chunk that fails does not keep the
// others.
func (f *Fleet) Terminate(ctx context.Context, ids []cloud.InstanceID) error {
	var errs []error
	for part := range slices.Chunk(ids, chunk) {
		errs = append(errs, f.terminateInstances(ctx, part))
	}
	return errors.Join(errs...)
}

// terminateInstances removes machines by one call. EC2 refuses the whole call for one
// machine that it has forgotten; such a call is halved until that one is alone,
// and then it is done.
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
