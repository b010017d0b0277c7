package lifecycle

import (
	"fmt"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
)

// First returns the first allocation of a task.
func First(t Task, at time.Time) Allocation {
	return next(t, 1, 0, at)
}

// Next returns the allocation that follows an ended one in order to repeat the same run.
func (a Allocation) Next(t Task, at time.Time) Allocation {
	n := next(t, a.Number+1, a.FirstLine+int64(len(a.Lines)), at)
	n.Run = a.Run
	if a.End != nil && a.End.Cause == rm.CauseNotHere {
		n.delayStart(a, at)
	}
	return n
}

func next(t Task, number int, firstLine int64, at time.Time) Allocation {
	a := Allocation{
		ID: rm.AllocationID(fmt.Sprintf("%s.%d", t.ID, number)), Task: t.ID, Number: number, Name: t.Name,
		State: Queued, Created: at, FirstLine: firstLine,
	}
	a.addMessage(at, levelInfo, "Scheduling %s (id: %s)", a.Name, a.ID)
	if number == 1 {
		for _, n := range t.Notes {
			a.addMessage(at, levelInfo, "%s", n)
		}
		for _, w := range t.Warnings {
			a.addMessage(at, levelWarning, "%s", w)
		}
	}
	return a
}

// Over reports whether nothing of the allocation is left.
func (a Allocation) Over() bool { return a.State == Terminated }

// Assign records the placement of the allocation. Repeated, it changes nothing; other containers are
// accepted as long as none of the earlier ones was started. It returns an error if the allocation must
// not be started.
func (a Allocation) Assign(as rm.Assignment) (Allocation, error) {
	switch {
	case a.Over():
		return a, fmt.Errorf("assign allocation %s: it has ended", a.ID)
	case a.Killed != nil:
		return a, fmt.Errorf("assign allocation %s: it was %s", a.ID, a.Killed.Reason)
	case sameContainers(a.Containers, as.Containers):
		return a, nil
	case slices.ContainsFunc(a.Containers, func(c Container) bool { return c.State != ContainerAssigned }):
		return a, fmt.Errorf("assign allocation %s: it was already started on other machines", a.ID)
	}
	if a.Assigned.IsZero() {
		a.addMessage(as.At, levelInfo, "%s was assigned to an agent", a.Name)
	}
	a.Assigned, a.Pool, a.Ports = as.At, as.Pool, as.Ports
	a.Containers = nil
	for _, c := range as.Containers {
		a.Containers = append(a.Containers, Container{
			ID: c.ID, Agent: c.Agent, Rank: c.Rank, Devices: devicesOf(c.Devices), State: ContainerAssigned,
		})
	}
	return a, nil
}

func sameContainers(have []Container, want []rm.Container) bool {
	return len(have) > 0 && slices.EqualFunc(have, want, func(h Container, w rm.Container) bool { return h.ID == w.ID })
}

// Change records a container's new state. Late and repeated events change nothing, unless they are the
// first to report where the container runs.
func (a Allocation) Change(n rm.ContainerChange) Allocation {
	i := slices.IndexFunc(a.Containers, func(c Container) bool { return c.ID == n.Container })
	to, known := containerState(n.State)
	if i < 0 || !known || a.Over() {
		return a
	}
	if !a.Containers[i].State.mayPrecede(to) {
		return a.noteLocation(i, to, n)
	}
	a.Containers = slices.Clone(a.Containers)
	c := &a.Containers[i]
	c.State = to
	if n.Agent != "" {
		c.Agent = n.Agent // on Kubernetes it is chosen after the assignment
	}
	if n.Host != "" {
		c.Host, c.Machine = n.Host, n.Machine
	}
	for _, ad := range n.Addresses {
		c.Addresses = append(c.Addresses, Address{ad.GetContainerIp(), ad.GetContainerPort(), ad.GetHostIp(), ad.GetHostPort()})
	}
	if to == ContainerTerminated {
		a.noteExit(c, n)
	}
	a.deriveState(n.At)
	return a
}

// noteLocation records the location of a running container that was reported without one, for example by
// a master of an earlier version.
func (a Allocation) noteLocation(i int, to ContainerState, n rm.ContainerChange) Allocation {
	if c := a.Containers[i]; n.Host == "" || c.Host != "" || c.State != ContainerRunning || to != ContainerRunning {
		return a
	}
	a.Containers = slices.Clone(a.Containers)
	a.Containers[i].Host, a.Containers[i].Machine = n.Host, n.Machine
	return a
}

// deriveState derives the allocation's state from the states of its containers.
func (a *Allocation) deriveState(at time.Time) {
	running := 0
	for _, c := range a.Containers {
		switch c.State {
		case ContainerPulling:
			a.advanceTo(Pulling)
		case ContainerStarting:
			a.advanceTo(Starting)
		case ContainerRunning:
			running++
			a.advanceTo(Running)
		case ContainerTerminated:
			a.advanceTo(Terminating)
		case ContainerAssigned:
		}
	}
	if running == len(a.Containers) && a.Started.IsZero() {
		a.Started = at
		a.addMessage(at, levelInfo, "Resources for %s have started", a.Name)
	}
}

// endedBySIGTERM is the exit code of a program that SIGTERM ended, in the convention of shells.
const endedBySIGTERM = 128 + 15

// noteExit records a container's exit. The first container of a gang that fails ends the others.
func (a *Allocation) noteExit(c *Container, n rm.ContainerChange) {
	c.Exit = exitOf(n.Exit)
	if c.Exit.Kind == Exited && c.Exit.Code == 0 {
		a.addMessage(n.At, levelInfo, "resources exited successfully with a zero exit code")
		return
	}
	// A container of a gang that stops as requested must not cut short the time that the others have
	// left.
	asked := a.Preempted != nil && c.Exit.Kind == Exited && c.Exit.Code == endedBySIGTERM
	cleaned := c.Daemon && a.leavesDaemons()
	if a.Failure != nil || a.Killed != nil || asked || cleaned {
		return
	}
	a.Failure = &Failure{Rank: c.Rank, Exit: *c.Exit}
	if a.countRemaining() > 0 {
		a.addMessage(n.At, levelInfo, "forcibly killing allocation's remaining resources (reason: %s)", a.Failure.failureText())
	}
}

// countRemaining returns the number of containers that have not ended.
func (a Allocation) countRemaining() int {
	n := 0
	for _, c := range a.Containers {
		if c.State != ContainerTerminated {
			n++
		}
	}
	return n
}

// Doomed returns the reason why the allocation must be killed, and reports whether it must: a kill was
// requested, or one of a gang has failed. The result stays the same until nothing is left of the
// allocation, so that a caller may be interrupted and call it again.
func (a Allocation) Doomed() (reason string, doomed bool) {
	switch {
	case a.Over():
		return "", false
	case a.Killed != nil:
		return a.Killed.Reason, true
	case a.Failure != nil && a.countRemaining() > 0:
		return a.Failure.failureText(), true
	case a.leavesDaemons() && a.countRemaining() > 0:
		return onlyDaemons, true
	}
	return "", false
}

// Kill records that a kill was requested. The first reason is kept.
func (a Allocation) Kill(reason string, at time.Time) Allocation {
	if a.Over() || a.Killed != nil {
		return a
	}
	a.Killed = &Stop{Reason: reason, At: at}
	if a.countRemaining() > 0 {
		a.addMessage(at, levelInfo, "forcibly killing allocation's remaining resources (reason: %s)", reason)
	}
	a.advanceTo(Terminating)
	return a
}

// Warn adds a warning to the log.
func (a Allocation) Warn(at time.Time, text string) Allocation {
	if !a.Over() {
		a.addMessage(at, levelWarning, "%s", text)
	}
	return a
}

// KillBy is Kill at the request of a user.
func (a Allocation) KillBy(user string, at time.Time) Allocation {
	killed := a.Kill("killed by user "+user, at)
	if a.Killed == nil && killed.Killed != nil {
		killed.Killed.User = user
	}
	return killed
}

// Preempt records that the allocation must checkpoint and stop before deadline.
func (a Allocation) Preempt(reason string, at, deadline time.Time) Allocation {
	if a.Over() || a.Preempted != nil {
		return a
	}
	a.Preempted = &Stop{Reason: reason, At: at, By: deadline}
	a.addMessage(at, levelInfo, "gracefully terminating allocation's remaining resources (reason: %s)", reason)
	a.advanceTo(Terminating)
	return a
}

// Starts reports whether a part of the allocation has yet to start.
func (a Allocation) Starts() bool {
	return a.Started.IsZero() && slices.Index(stateOrder(), a.State) <= slices.Index(stateOrder(), Running)
}

// Wait records why the allocation does not get its machines, or does not start on them. It adds one line
// for each kind of reason, unless another kind came in between.
func (a Allocation) Wait(w rm.Wait) Allocation {
	if !a.Starts() || a.Waited == w.Kind {
		return a
	}
	a.Waited = w.Kind
	next := ""
	if w.Next.After(w.At) {
		next = "; next try in " + w.Next.Sub(w.At).Round(time.Second).String()
	}
	a.addMessage(w.At, levelWarning, "%s is waiting: %s%s", a.Name, w.Reason, next)
	return a
}

// Listen records that the program listens for the preemption signal: it checkpoints when it receives the
// signal, and must not be ended by SIGTERM meanwhile.
func (a Allocation) Listen() Allocation {
	a.Listens = a.Listens || !a.Over()
	return a
}

// Acknowledge records that the program has seen the preemption signal.
func (a Allocation) Acknowledge() Allocation {
	if a.Preempted != nil && !a.Preempted.Acked && !a.Over() {
		seen := *a.Preempted
		seen.Acked = true
		a.Preempted = &seen
	}
	return a
}

// Report records the program's report that it is ready, or that it is waiting.
func (a Allocation) Report(ready bool, at time.Time) Allocation {
	if a.Over() {
		return a
	}
	if ready && !a.Ready {
		a.addMessage(at, levelInfo, "Service of %s is available", a.Name)
	}
	a.Ready, a.Waiting = a.Ready || ready, !ready
	return a
}
