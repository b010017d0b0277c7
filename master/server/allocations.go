package server

import (
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func (s *Server) allocationReady(c *call) (*apiv1.AllocationReadyResponse, error) {
	return &apiv1.AllocationReadyResponse{}, s.cfg.Tasks.Ready(c.Context(), c.allocation)
}

func (s *Server) allocationWaiting(c *call) (*apiv1.AllocationWaitingResponse, error) {
	return &apiv1.AllocationWaitingResponse{}, s.cfg.Tasks.Waiting(c.Context(), c.allocation)
}

func (s *Server) accelerators(c *call, in *apiv1.PostAllocationAcceleratorDataRequest) (*apiv1.PostAllocationAcceleratorDataResponse, error) {
	in.AllocationId = c.allocation
	return &apiv1.PostAllocationAcceleratorDataResponse{}, s.cfg.Tasks.PostAcceleratorData(c.allocation, in)
}

// longestPoll is above the 60 s that clients ask for, and below what proxies allow.
const longestPoll = 5 * time.Minute

// preemption waits for timeoutSeconds at most: a client asks again for as long as
// its task runs.
func (s *Server) preemption(c *call) (*apiv1.AllocationPreemptionSignalResponse, error) {
	seconds := c.number("timeoutSeconds")
	if seconds < 0 {
		c.wrong("timeoutSeconds", "0 or more")
	}
	if c.bad != nil {
		return nil, c.bad
	}
	if err := s.lasting(c); err != nil {
		return nil, err
	}
	ctx, cancel := s.patient(c)
	defer cancel()
	wait := min(time.Duration(seconds)*time.Second, longestPoll)
	preempt, err := s.cfg.Tasks.PreemptionSignal(ctx, c.allocation, wait)
	return &apiv1.AllocationPreemptionSignalResponse{Preempt: preempt}, err
}

// rendezvous waits until all containers of the allocation have started: a program asks
// before it talks to those on the other machines.
func (s *Server) rendezvous(c *call) (*apiv1.AllocationRendezvousInfoResponse, error) {
	if err := s.lasting(c); err != nil {
		return nil, err
	}
	ctx, cancel := s.patient(c)
	defer cancel()
	info, err := s.cfg.Tasks.Rendezvous(ctx, c.allocation, c.PathValue("resources"), longestPoll)
	return &apiv1.AllocationRendezvousInfoResponse{RendezvousInfo: info}, err
}

func (s *Server) preempt(c *call) (*apiv1.AllocationPendingPreemptionSignalResponse, error) {
	c.did(c.PathValue("allocation"), s.ownerOf(c, taskOf(c.PathValue("allocation"))))
	return &apiv1.AllocationPendingPreemptionSignalResponse{}, s.cfg.Tasks.Preempt(c.Context(), c.user, c.PathValue("allocation"))
}

func (s *Server) ackPreemption(c *call) (*apiv1.AckAllocationPreemptionSignalResponse, error) {
	return &apiv1.AckAllocationPreemptionSignalResponse{}, s.cfg.Tasks.AckPreemption(c.Context(), c.allocation)
}
