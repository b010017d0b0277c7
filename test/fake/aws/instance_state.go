package awstest

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// forgetAfter is the time for which EC2 lists a terminated instance, about an hour.
const forgetAfter = time.Hour

func state(name types.InstanceStateName) *types.InstanceState {
	codes := map[types.InstanceStateName]int32{
		types.InstanceStateNamePending: 0, types.InstanceStateNameRunning: 16, types.InstanceStateNameShuttingDown: 32,
		types.InstanceStateNameTerminated: 48, types.InstanceStateNameStopping: 64, types.InstanceStateNameStopped: 80,
	}
	return &types.InstanceState{Name: name, Code: aws.Int32(codes[name])}
}

// settle completes all transitions that are due. The states of an instance:
//
//	pending ──Boot──▶ running ──stop──▶ stopping ──Shutdown──▶ stopped ──start──▶ pending
//	   └────────────────┴──terminate──▶ shutting-down ──Shutdown──▶ terminated ──an hour──▶ forgotten
func (s *site) settle() {
	now := s.now()
	s.settleDisks(now)
	for id, at := range s.net.leaving {
		if !now.Before(at) {
			s.net.endpoints.remove(id)
			delete(s.net.leaving, id)
		}
	}
	for _, v := range s.ec2.instances.all() {
		id := *v.InstanceId
		m := s.ec2.machines[id]
		if m.next != "" && !now.Before(m.due) {
			v.State, m.next = state(m.next), ""
			if v.State.Name == types.InstanceStateNameTerminated {
				s.releaseResources(v, m)
			}
		}
		if !m.unplug.IsZero() && !now.Before(m.unplug) {
			s.unplug(id)
			m.unplug = time.Time{}
		}
		if !m.forget.IsZero() && !now.Before(m.forget) {
			s.ec2.instances.remove(id)
		}
	}
}

// releaseResources releases the resources of a terminated instance.
func (s *site) releaseResources(v *types.Instance, m *machine) {
	m.unplug, m.forget = m.due.Add(s.opt.Linger), m.due.Add(forgetAfter)
	for _, vol := range s.ec2.volumes.all() {
		for _, a := range vol.Attachments {
			if aws.ToString(a.InstanceId) != *v.InstanceId {
				continue
			}
			if aws.ToBool(a.DeleteOnTermination) {
				s.ec2.volumes.remove(*vol.VolumeId)
			}
			vol.Attachments, vol.State = nil, types.VolumeStateAvailable
		}
	}
	for _, a := range s.net.addresses.all() {
		if aws.ToString(a.InstanceId) == *v.InstanceId {
			s.unmap(a)
		}
	}
	v.BlockDeviceMappings, v.PublicIpAddress, v.PrivateIpAddress, v.NetworkInterfaces, v.SubnetId, v.VpcId = nil, nil, nil, nil, nil, nil
	v.SecurityGroups = nil
	s.ended(v)
}

func (s *site) unplug(instance string) {
	if n := s.nicOf(instance); n != nil {
		s.net.nics.remove(*n.NetworkInterfaceId)
	}
}

func (s *site) terminateInstances(in *ec2.TerminateInstancesInput) (*ec2.TerminateInstancesOutput, error) {
	vs, err := s.each(in.InstanceIds)
	if err != nil {
		return nil, err
	}
	for _, v := range vs {
		if s.ec2.machines[*v.InstanceId].protected {
			return nil, refuse(400, "OperationNotPermitted", "The instance '"+*v.InstanceId+"' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again.")
		}
	}
	out := &ec2.TerminateInstancesOutput{}
	for _, v := range vs {
		was := v.State
		if was.Name != types.InstanceStateNameTerminated && was.Name != types.InstanceStateNameShuttingDown {
			s.end(v, "Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated shutdown")
		}
		out.TerminatingInstances = append(out.TerminatingInstances, types.InstanceStateChange{InstanceId: v.InstanceId, PreviousState: was, CurrentState: v.State})
	}
	return out, nil
}

// end terminates an instance.
func (s *site) end(v *types.Instance, code, message string) {
	v.StateReason = &types.StateReason{Code: &code, Message: &message}
	v.StateTransitionReason = aws.String("User initiated (" + s.now().Format("2006-01-02 15:04:05") + " GMT)")
	s.shift(v, types.InstanceStateNameShuttingDown, types.InstanceStateNameTerminated, s.opt.Shutdown)
}

// shift sets the state of an instance, and schedules the following state.
func (s *site) shift(v *types.Instance, now, then types.InstanceStateName, after time.Duration) {
	m := s.ec2.machines[*v.InstanceId]
	v.State, m.next, m.due = state(now), then, s.now().Add(after)
}

// each returns instances, or an error if one does not exist.
func (s *site) each(ids []string) ([]*types.Instance, error) {
	if len(ids) == 0 {
		return nil, missing("InstanceId")
	}
	var out []*types.Instance
	for _, id := range ids {
		v, ok := s.ec2.instances.ask(id)
		if !ok {
			return nil, noInstance(id)
		}
		out = append(out, v)
	}
	return out, nil
}

func (s *site) stopInstances(in *ec2.StopInstancesInput) (*ec2.StopInstancesOutput, error) {
	vs, err := s.each(in.InstanceIds)
	if err != nil {
		return nil, err
	}
	out := &ec2.StopInstancesOutput{}
	for _, v := range vs {
		was := v.State
		switch was.Name {
		case types.InstanceStateNameRunning:
			s.halt(v)
		case types.InstanceStateNameStopping, types.InstanceStateNameStopped:
		default:
			return nil, notInState(v, "stopped")
		}
		out.StoppingInstances = append(out.StoppingInstances, types.InstanceStateChange{InstanceId: v.InstanceId, PreviousState: was, CurrentState: v.State})
	}
	return out, nil
}

func (s *site) startInstances(in *ec2.StartInstancesInput) (*ec2.StartInstancesOutput, error) {
	vs, err := s.each(in.InstanceIds)
	if err != nil {
		return nil, err
	}
	out := &ec2.StartInstancesOutput{}
	for _, v := range vs {
		was := v.State
		switch was.Name {
		case types.InstanceStateNameStopped:
			s.shift(v, types.InstanceStateNamePending, types.InstanceStateNameRunning, s.opt.Boot)
			s.readdress(v)
		case types.InstanceStateNamePending, types.InstanceStateNameRunning:
		default:
			return nil, notInState(v, "started")
		}
		out.StartingInstances = append(out.StartingInstances, types.InstanceStateChange{InstanceId: v.InstanceId, PreviousState: was, CurrentState: v.State})
	}
	return out, nil
}

// halt stops an instance. A public address assigned by Amazon is released.
func (s *site) halt(v *types.Instance) {
	s.shift(v, types.InstanceStateNameStopping, types.InstanceStateNameStopped, s.opt.Shutdown)
	if n := s.nicOf(*v.InstanceId); n != nil && n.Association != nil && n.Association.AllocationId == nil {
		n.Association, v.PublicIpAddress = nil, nil
	}
}

// readdress assigns a new public address to an instance that starts again, if it had one assigned
// by Amazon before.
func (s *site) readdress(v *types.Instance) {
	n := s.nicOf(*v.InstanceId)
	if !s.ec2.machines[*v.InstanceId].public || n == nil || n.Association != nil {
		return
	}
	n.Association = &types.NetworkInterfaceAssociation{PublicIp: aws.String(s.publicIP()), IpOwnerId: aws.String("amazon")}
	v.PublicIpAddress = n.Association.PublicIp
}

// PowerOff shuts an instance down from inside. It is then stopped or terminated, as configured at
// its launch.
func (w *World) PowerOff(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.sites {
		v, ok := s.ec2.instances.get(id)
		if !ok {
			continue
		}
		if s.ec2.machines[id].shutdown == types.ShutdownBehaviorTerminate {
			s.end(v, "Client.InstanceInitiatedShutdown", "Client.InstanceInitiatedShutdown: Instance initiated shutdown")
			continue
		}
		s.halt(v)
	}
}

func notInState(v *types.Instance, verb string) error {
	return refuse(400, "IncorrectInstanceState", "The instance '"+*v.InstanceId+"' is not in a state from which it can be "+verb+".")
}
