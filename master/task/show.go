package task

import (
	"cmp"
	"errors"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// views converts tasks to API messages.
type views struct {
	*shared

	records *records
}

func timeoutOf(d container.Defaults) time.Duration {
	return time.Duration(d.PreemptionTimeout)
}

func asGap(err error) (*log.GapError, bool) { return errors.AsType[*log.GapError](err) }

func (v *views) launchReply(s snapshot) (*apiv1.LaunchCommandResponse, error) {
	cfg, err := spec.Load(s.task.Config)
	if err != nil {
		return nil, err
	}
	return v.replyLaunched(s, cfg)
}

// replyLaunched is launchReply for callers that have the configuration.
func (v *views) replyLaunched(s snapshot, cfg spec.Config) (*apiv1.LaunchCommandResponse, error) {
	shown, err := spec.Show(cfg, v.effectivePriority(&s))
	if err != nil {
		return nil, err
	}
	r := &apiv1.LaunchCommandResponse{Command: v.showCommand(s), Config: shown}
	if s.task.Array != nil {
		r.ArrayId = &s.task.Array.ID
	}
	if s.task.Exceeds {
		r.Warnings = []apiv1.LaunchWarning{apiv1.LaunchWarning_LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED}
	}
	return r, nil
}

func (v *views) shownConfig(s snapshot) (*structpb.Struct, error) {
	cfg, err := spec.Load(s.task.Config)
	if err != nil {
		return nil, err
	}
	return spec.Show(cfg, v.effectivePriority(&s))
}

// showCommand returns a command as an API message.
func (v *views) showCommand(s snapshot) *apiv1.Command {
	task, a := s.task, s.currentAllocation()
	c := &apiv1.Command{
		Id: string(task.ID), Description: task.Name, State: a.State.API(), StartTime: timestamppb.New(task.Submitted),
		DisplayName: task.Username, UserId: task.UserID, Username: task.Username, ResourcePool: task.Pool,
		JobId: string(kindOf(task.Kind).job(task)), WorkspaceId: task.Workspace,
	}
	v.showOwnFields(c, &s, &a)
	if in := task.Array; in != nil {
		index := int32(in.Index) //nolint:gosec // it was an int32
		c.ArrayId, c.ArrayIndex = &in.ID, &index
	}
	if len(a.Containers) > 0 {
		first := a.Containers[0]
		c.Container = &apiv1.Container{Parent: string(task.ID), Id: string(first.ID), State: first.State.API(), Devices: showDevices(first)}
	}
	switch {
	case s.rests(): // it has not ended
		c.State = lifecycle.Queued.API()
	case a.End != nil:
		c.ExitStatus, c.ExitCode = a.End.Status, a.End.Code
	}
	return c
}

// showOwnFields sets the fields that Determined has not.
func (v *views) showOwnFields(c *apiv1.Command, s *snapshot, a *lifecycle.Allocation) {
	status, slots, attempts := string(s.status()), int32(s.task.Slots), int32(a.Number) //nolint:gosec // slots of one pool, attempts of one task
	c.Status, c.Slots, c.Attempts, c.Labels = &status, &slots, &attempts, s.task.Labels
	c.TaskType = kindOf(s.task.Kind).taskType
	if line := commandLine(s.task.Config); line != "" {
		c.CommandLine = &line
	}
	if !a.Assigned.IsZero() && !s.rests() {
		c.AssignedTime = timestamppb.New(a.Assigned)
	}
	if s.hasEnded() {
		c.EndTime = timestamppb.New(s.task.Ended)
	}
	if a.Killed != nil && a.Killed.User != "" {
		c.KilledBy = &a.Killed.User
	}
	if stop := s.latestPreemption(); stop != nil {
		c.Preemption = &stop.Reason
	}
	if why := cmp.Or(a.EndNote(), a.StopNote(), v.waitReason(*s)); why != "" {
		c.Reason = &why
	}
}

// status returns the state of the task in one word.
func (s *snapshot) status() apiv1.Status {
	if s.rests() {
		return apiv1.StatusPaused
	}
	return s.allocations[len(s.allocations)-1].Status()
}

// latestPreemption returns the latest preemption of a task, or nil.
func (s *snapshot) latestPreemption() *lifecycle.Stop {
	for i := len(s.allocations) - 1; i >= 0; i-- {
		if stop := s.allocations[i].Preempted; stop != nil {
			return stop
		}
	}
	return nil
}

// waitReason returns why a task does not run yet.
func (v *views) waitReason(s snapshot) string {
	a, r := s.currentAllocation(), v.reg.managerOf()
	switch {
	case !a.Starts() || r == nil:
		return ""
	case len(s.task.After) > 0:
		return lifecycle.AfterNote(s.task.After)
	}
	known, _ := r.Allocation(a.ID)
	return known.Waiting
}

func showDevices(c lifecycle.Container) []*apiv1.Device {
	var out []*apiv1.Device
	for _, d := range c.Devices {
		out = append(out, d.API())
	}
	return out
}

func (v *views) showTask(s snapshot) *apiv1.Task {
	out := &apiv1.Task{
		TaskId: string(s.task.ID), TaskType: kindOf(s.task.Kind).taskType, StartTime: timestamppb.New(startOf(s)), Config: v.configText(s),
	}
	if s.hasEnded() {
		out.EndTime = timestamppb.New(s.task.Ended)
	}
	if s.task.Kind == lifecycle.Generic && len(s.allocations) > 0 {
		showFamily(out, &s)
	}
	// The newest first: clients read the first one.
	for i := len(s.allocations) - 1; i >= 0; i-- {
		out.Allocations = append(out.Allocations, showAllocation(s.task, s.allocations[i]))
	}
	return out
}

// startOf returns when a task was created. The Submitted time of a task with an owner is that of its
// job, which may have other tasks.
func startOf(s snapshot) time.Time {
	if len(s.allocations) == 0 {
		return s.task.Submitted
	}
	return s.allocations[0].Created
}

// configText returns a task's configuration as JSON; nil if its owner has it.
func (v *views) configText(s snapshot) *string {
	if kindOf(s.task.Kind).owned {
		return nil
	}
	config := string(s.task.Config)
	if shown, err := v.shownConfig(s); err == nil {
		if text, err := shown.MarshalJSON(); err == nil {
			config = string(text)
		}
	}
	return &config
}

func showAllocation(task lifecycle.Task, a lifecycle.Allocation) *apiv1.Allocation {
	ready := a.Ready || kindOf(task.Kind).waits && a.State == lifecycle.Running
	out := &apiv1.Allocation{
		TaskId: string(a.Task), State: a.State.API(), IsReady: &ready, AllocationId: string(a.ID), Slots: int32(task.Slots),
	}
	if a.State == lifecycle.Running && a.Waiting {
		out.State = apiv1.Task_STATE_WAITING
	}
	if !a.Assigned.IsZero() {
		out.StartTime = timestamppb.New(a.Assigned)
	}
	if a.End != nil {
		out.EndTime = timestamppb.New(a.End.At)
		out.ExitReason, out.StatusCode = &a.End.Status, a.End.Code
	}
	return out
}

// effectivePriority returns the effective priority: the resource manager's while it has the task,
// otherwise the requested one, otherwise the pool's default. It returns 0 if the priority is unknown.
func (v *views) effectivePriority(s *snapshot) int {
	r := v.reg.managerOf()
	if r == nil {
		return s.task.Priority
	}
	if len(s.allocations) > 0 {
		if priority, found := r.Priority(s.allocations[len(s.allocations)-1].ID); found {
			return priority
		}
	}
	if s.task.Priority != 0 {
		return s.task.Priority
	}
	for _, p := range r.PoolSettings() {
		if p.Name == s.task.Pool {
			return p.DefaultPriority
		}
	}
	return 0
}

func showResources(a lifecycle.Allocation) []*apiv1.ResourcesSummary {
	var out []*apiv1.ResourcesSummary
	for _, c := range a.Containers {
		out = append(out, resources(a, c))
	}
	return out
}

func resources(a lifecycle.Allocation, c lifecycle.Container) *apiv1.ResourcesSummary {
	id := string(c.ID)
	out := &apiv1.ResourcesSummary{
		ResourcesId: id, ResourcesType: "docker-container", AllocationId: string(a.ID), ContainerId: &id,
		AgentDevices: map[string]*apiv1.ResourcesSummary_Devices{string(c.Agent): {Devices: showDevices(c)}},
	}
	if c.State == lifecycle.ContainerRunning || len(c.Addresses) > 0 {
		out.Started = &apiv1.ResourcesStarted{}
		for _, ad := range c.Addresses {
			out.Started.Addresses = append(out.Started.Addresses, &apiv1.Address{
				ContainerIp: ad.ContainerIP, ContainerPort: ad.ContainerPort, HostIp: ad.HostIP, HostPort: ad.HostPort,
			})
		}
	}
	if x := c.Exit; x != nil {
		out.Exited = &apiv1.ResourcesStopped{}
		if x.Kind != lifecycle.Exited || x.Code != 0 {
			out.Exited.Failure = &apiv1.ResourcesFailure{FailureType: failureType(x.Kind), ErrMsg: x.Message}
			if x.Kind == lifecycle.Exited {
				out.Exited.Failure.ExitCode = &x.Code
			}
		}
	}
	return out
}

func failureType(k lifecycle.ExitKind) apiv1.ResourcesFailure_FailureType {
	switch k {
	case lifecycle.Exited:
		return apiv1.ResourcesFailure_FAILURE_TYPE_RESOURCES_FAILED
	case lifecycle.NotStarted:
		return apiv1.ResourcesFailure_FAILURE_TYPE_RESOURCES_ABORTED
	default:
		return apiv1.ResourcesFailure_FAILURE_TYPE_RESOURCES_MISSING
	}
}
