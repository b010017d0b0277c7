package server

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// allocationCalls serves the calls that the processes of tasks make.
type allocationCalls struct{ *shared }

func (a *allocationCalls) routes() []route {
	if a.cfg.Tasks == nil {
		return nil
	}
	return []route{
		postRoute("allocations/{allocation}/ready", allocation, plainCall(a.allocationReady)),
		postRoute("allocations/{allocation}/waiting", allocation, plainCall(a.allocationWaiting)),
		postRoute("allocations/{allocation}/acceleratorData", allocation, unaryCall(a.accelerators)),
		getRoute("allocations/{allocation}/resources/{resources}/rendezvous", allocation, plainCall(a.rendezvous)),
		postRoute("allocations/{allocation}/resources/{resources}/daemon", allocation, plainCall(a.markDaemon)),
		postRoute("allocations/{allocation}/all_gather", allocation, unaryCall(a.gatherAll)),
		postRoute("allocations/{allocation}/notify_container_running", allocation, unaryCall(a.notifyRunning)),
		postRoute("allocations/{allocation}/proxy_address", allocation, unaryCall(a.proxyAddress)),
		getRoute("allocations/{allocation}", user, plainCall(a.getAllocation)),
		getRoute("allocations/{allocation}/signals/preemption", allocation, plainCall(a.preemption)),
		auditedRoute("task.preempt", postRoute("allocations/{allocation}/signals/pending_preemption", user, plainCall(a.preempt))),
		postRoute("allocations/{allocation}/signals/ack_preemption", allocation, plainCall(a.ackPreemption)),
	}
}

func (a *allocationCalls) allocationReady(c *call) (*apiv1.AllocationReadyResponse, error) {
	return &apiv1.AllocationReadyResponse{}, a.cfg.Tasks.Ready(c.Context(), c.allocation)
}

func (a *allocationCalls) allocationWaiting(c *call) (*apiv1.AllocationWaitingResponse, error) {
	return &apiv1.AllocationWaitingResponse{}, a.cfg.Tasks.Waiting(c.Context(), c.allocation)
}

func (a *allocationCalls) accelerators(c *call, in *apiv1.PostAllocationAcceleratorDataRequest) (*apiv1.PostAllocationAcceleratorDataResponse, error) {
	in.AllocationId = c.allocation
	return &apiv1.PostAllocationAcceleratorDataResponse{}, a.cfg.Tasks.PostAcceleratorData(c.Context(), in)
}

// longestPoll exceeds the 60 s that clients request, and stays below the timeouts of proxies.
const longestPoll = 5 * time.Minute

// preemption waits for at most timeoutSeconds; a client repeats the call as long as its task runs.
func (a *allocationCalls) preemption(c *call) (*apiv1.AllocationPreemptionSignalResponse, error) {
	params := c.query()
	seconds := params.Number("timeoutSeconds")
	if seconds < 0 {
		params.Reject("timeoutSeconds", "0 or more")
	}
	if params.Err() != nil {
		return nil, params.Err()
	}
	if err := a.countStream(c); err != nil {
		return nil, err
	}
	ctx, cancel := a.whileServing(c.Context())
	defer cancel()
	wait := min(time.Duration(seconds)*time.Second, longestPoll)
	preempt, err := a.cfg.Tasks.PreemptionSignal(ctx, c.allocation, wait)
	return &apiv1.AllocationPreemptionSignalResponse{Preempt: preempt}, err
}

// rendezvous waits until all containers of the allocation have called it. Programs call it before they
// connect to other machines.
func (a *allocationCalls) rendezvous(c *call) (*apiv1.AllocationRendezvousInfoResponse, error) {
	if err := a.countStream(c); err != nil {
		return nil, err
	}
	ctx, cancel := a.whileServing(c.Context())
	defer cancel()
	info, err := a.cfg.Tasks.Rendezvous(ctx, c.allocation, c.PathValue("resources"), longestPoll)
	return &apiv1.AllocationRendezvousInfoResponse{RendezvousInfo: info}, err
}

func (a *allocationCalls) preempt(c *call) (*apiv1.AllocationPendingPreemptionSignalResponse, error) {
	c.noteTarget(c.PathValue("allocation"), a.ownerOf(c, taskOf(c.PathValue("allocation"))))
	return &apiv1.AllocationPendingPreemptionSignalResponse{}, a.cfg.Tasks.Preempt(c.Context(), c.user, c.PathValue("allocation"))
}

func (a *allocationCalls) ackPreemption(c *call) (*apiv1.AckAllocationPreemptionSignalResponse, error) {
	return &apiv1.AckAllocationPreemptionSignalResponse{}, a.cfg.Tasks.AckPreemption(c.Context(), c.allocation)
}

func (a *allocationCalls) getAllocation(c *call) (*apiv1.GetAllocationResponse, error) {
	found, err := a.cfg.Tasks.FindAllocation(c.Context(), c.PathValue("allocation"))
	return &apiv1.GetAllocationResponse{Allocation: found}, err
}

func (a *allocationCalls) markDaemon(c *call) (*apiv1.MarkAllocationResourcesDaemonResponse, error) {
	return &apiv1.MarkAllocationResourcesDaemonResponse{}, a.cfg.Tasks.MarkDaemon(c.Context(), c.allocation, c.PathValue("resources"))
}

// proxyAddress accepts the address of a program and ignores it, because the master reaches programs by
// their containers.
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

// waitForPeers waits until all programs have sent their data, for at most longestPoll.
func (a *allocationCalls) waitForPeers(c *call, in *apiv1.AllocationAllGatherRequest,
	wait func(context.Context, *apiv1.AllocationAllGatherRequest) ([]*structpb.Struct, error),
) ([]*structpb.Struct, error) {
	if err := a.countStream(c); err != nil {
		return nil, err
	}
	ctx, cancel := a.whileServing(c.Context())
	defer cancel()
	return wait(ctx, in)
}
