package server

import (
	"context"

	"google.golang.org/protobuf/types/known/structpb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func (a *allocationCalls) getAllocation(c *call) (*apiv1.GetAllocationResponse, error) {
	found, err := a.cfg.Tasks.FindAllocation(c.Context(), c.PathValue("allocation"))
	return &apiv1.GetAllocationResponse{Allocation: found}, err
}

func (a *allocationCalls) markDaemon(c *call) (*apiv1.MarkAllocationResourcesDaemonResponse, error) {
	return &apiv1.MarkAllocationResourcesDaemonResponse{}, a.cfg.Tasks.MarkDaemon(c.Context(), c.allocation, c.PathValue("resources"))
}

// proxyAddress accepts the address at which a program is reached. Nothing asks for it: the
// master reaches programs by their containers.
func (a *allocationCalls) proxyAddress(c *call, _ *apiv1.PostAllocationProxyAddressRequest) (*apiv1.PostAllocationProxyAddressResponse, error) {
	_, err := a.cfg.Tasks.FindAllocation(c.Context(), c.allocation)
	return &apiv1.PostAllocationProxyAddressResponse{}, err
}

func (a *allocationCalls) gatherAll(c *call, in *apiv1.AllocationAllGatherRequest) (*apiv1.AllocationAllGatherResponse, error) {
	in.AllocationId = c.allocation
	data, err := a.waitForPeers(c, in, a.cfg.Tasks.AllGather)
	return &apiv1.AllocationAllGatherResponse{Data: data}, err
}

func (a *allocationCalls) notifyRunning(c *call, in *apiv1.NotifyContainerRunningRequest) (*apiv1.NotifyContainerRunningResponse, error) {
	data, err := a.waitForPeers(c, &apiv1.AllocationAllGatherRequest{
		AllocationId: c.allocation, RequestUuid: in.GetRequestUuid(), NumPeers: in.GetNumPeers(), Data: in.GetData(),
	}, a.cfg.Tasks.AllRunning)
	return &apiv1.NotifyContainerRunningResponse{Data: data}, err
}

// waitForPeers waits until all programs have sent theirs, as long as a poll may last.
func (a *allocationCalls) waitForPeers(c *call, in *apiv1.AllocationAllGatherRequest,
	wait func(context.Context, *apiv1.AllocationAllGatherRequest) ([]*structpb.Struct, error),
) ([]*structpb.Struct, error) {
	if err := a.countStream(c); err != nil {
		return nil, err
	}
	ctx, cancel := a.whileServing(c)
	defer cancel()
	return wait(ctx, in)
}
