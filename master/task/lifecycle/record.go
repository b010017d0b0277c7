package lifecycle

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config/security"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Kind is what kind of task it is, as programs read it in DET_TASK_TYPE.
type Kind string

// The kinds of tasks.
const (
	// Command runs one program to its end.
	Command Kind = "COMMAND"
	// Trial runs one trial of an experiment, as often as the experiment wants.
	Trial Kind = "TRIAL"
	// CheckpointGC deletes files of checkpoints.
	CheckpointGC Kind = "CHECKPOINT_GC"
)

// Task is what is kept of a task apart from its allocations. It changes rarely.
type Task struct {
	ID        rm.TaskID          `json:"id"`
	Kind      Kind               `json:"kind"`
	Name      string             `json:"name"`
	UserID    int32              `json:"user_id"`
	Username  string             `json:"username"`
	Unix      security.AgentUser `json:"unix"`
	Workspace int32              `json:"workspace"`
	Submitted time.Time          `json:"submitted"`
	// Ended is zero while an allocation runs or is to run.
	Ended time.Time `json:"ended,omitzero"`

	Pool              string        `json:"pool"`
	Slots             int           `json:"slots"`
	MaxSlots          int           `json:"max_slots,omitempty"`
	Priority          int           `json:"priority,omitempty"`
	Weight            float64       `json:"weight"`
	Preemptible       bool          `json:"preemptible,omitempty"`
	PreemptionTimeout time.Duration `json:"preemption_timeout_ns"`

	// Job is what the queue orders, of a task with an owner: many tasks may be one job.
	Job rm.JobID `json:"job,omitempty"`
	// JobName and Entity are what clients know the job by.
	JobName string `json:"job_name,omitempty"`
	Entity  string `json:"entity,omitempty"`
	// Held says that its owner has stopped it until it is started again.
	Held bool `json:"held,omitempty"`
	// SingleNode forbids more than one machine, of a task with an owner.
	SingleNode bool `json:"single_node,omitempty"`
	// Excluded lists the machines that it must not run on.
	Excluded []rm.AgentID `json:"excluded,omitempty"`

	// Array is which of an array of tasks it is; nil for none.
	Array *Array `json:"array,omitempty"`

	// Config is the whole configuration, as spec.Store writes it; of a task with an
	// owner there is none.
	Config     json.RawMessage `json:"config,omitempty"`
	HasContext bool            `json:"has_context,omitempty"`
	// HasHook says that a script to run before the program is among the files.
	HasHook bool `json:"has_hook,omitempty"`
	// ContextBytes is the size of the files that came with the task, packed.
	ContextBytes int64 `json:"context_bytes,omitempty"`
	// PodSpec is what Config says of the task's pod.
	PodSpec  json.RawMessage `json:"pod_spec,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
	// Exceeds says that the task waits for more slots than there are.
	Exceeds bool `json:"exceeds,omitempty"`
}

// Array is which of many tasks of one submission one is.
type Array struct {
	ID    string `json:"id"`
	Index int    `json:"index"`
	// Size is how many there are.
	Size int `json:"size"`
}

// Request is what is asked of the resource manager, without what its kind adds.
func (t Task) Request(a Allocation) rm.Request {
	return rm.Request{
		Allocation: a.ID, Task: t.ID, Name: t.Name, JobName: t.JobName, Entity: t.Entity,
		Username: t.Username, UserID: t.UserID, Pool: t.Pool, Slots: t.Slots, Priority: t.Priority, Weight: t.Weight,
		MaxSlots: t.MaxSlots, Preemptible: t.Preemptible, PreemptionTimeout: t.PreemptionTimeout, Submitted: t.Submitted,
		PodSpec: t.PodSpec, ExcludedAgents: t.Excluded,
		NotBefore: a.NotBefore, Delayed: a.Delayed, Avoid: a.Avoid,
	}
}

// Allocation is one try to run a task.
type Allocation struct {
	ID     rm.AllocationID `json:"id"`
	Task   rm.TaskID       `json:"task"`
	Number int             `json:"number"`
	// Run is its owner's number of it, from 1; 0 where there is no owner. What could not be
	// started on a machine for what that lacked is tried again as the same run.
	Run      int       `json:"run,omitempty"`
	Name     string    `json:"name"`
	State    State     `json:"state"`
	Created  time.Time `json:"created"`
	Assigned time.Time `json:"assigned,omitzero"`
	Started  time.Time `json:"started,omitzero"`
	Pool     string    `json:"pool,omitempty"`
	// Price is what a slot cost when it was placed; nil is not known.
	Price      *rm.Price   `json:"price,omitempty"`
	Containers []Container `json:"containers,omitempty"`
	Ready      bool        `json:"ready,omitempty"`
	// Waiting is what the program said of itself: it runs but has nothing to do yet.
	Waiting bool `json:"waiting,omitempty"`
	// Listens says that the program asks for the preemption signal.
	Listens bool `json:"listens,omitempty"`
	// Waited is the kind of matter that last kept machines from being launched.
	Waited string `json:"waited,omitempty"`

	Killed    *Stop    `json:"killed,omitempty"`
	Preempted *Stop    `json:"preempted,omitempty"`
	Failure   *Failure `json:"failure,omitempty"`
	End       *Ending  `json:"end,omitempty"`

	// SSHSeed is what the key is made of that the containers of this allocation share; nil for one.
	SSHSeed []byte `json:"ssh_seed,omitempty"`
	// Missed is what was last said of containers that others wait for.
	Missed string `json:"missed,omitempty"`

	// Gathered is what its programs last gave each other, by what for.
	Gathered map[GatherKind]Gathered `json:"gathered,omitempty"`

	// NotHere counts how often in a row the task could not be started for what a machine
	// lacked; NotBefore is when it is tried again, and Delayed why so late.
	NotHere   int       `json:"not_here,omitempty"`
	NotBefore time.Time `json:"not_before,omitzero"`
	Delayed   string    `json:"delayed,omitempty"`
	// Avoid lists the agents that could not start it, the last ones of the row.
	Avoid []rm.AgentID `json:"avoid,omitempty"`

	// FirstLine is the number, within the task, of Lines[0].
	FirstLine int64 `json:"first_line"`
	// Lines is what the master has to say in the task's log. They are stored with
	// the change that they tell of and copied into the log after it, by number, so
	// that each is there once whatever is interrupted.
	Lines []Line `json:"lines,omitempty"`
}

// Container is one part of an allocation.
type Container struct {
	ID        rm.ContainerID `json:"id"`
	Agent     rm.AgentID     `json:"agent"`
	Rank      int            `json:"rank"`
	Devices   []Device       `json:"devices,omitempty"`
	State     ContainerState `json:"state"`
	Exit      *Exit          `json:"exit,omitempty"`
	Addresses []Address      `json:"addresses,omitempty"`
	// Host is where the other containers find it.
	Host string `json:"host,omitempty"`
	// Machine is the same for containers on one machine; empty where that is not known.
	Machine string `json:"machine,omitempty"`
	// Met says that it has asked where the others are.
	Met bool `json:"met,omitempty"`
	// Daemon says that the allocation does not wait for its end.
	Daemon bool `json:"daemon,omitempty"`
}

// Device is one slot of a container.
type Device struct {
	ID    int32  `json:"id"`
	Brand string `json:"brand,omitempty"`
	UUID  string `json:"uuid,omitempty"`
	Type  string `json:"type"`
}

// Address is where a container's port can be reached.
type Address struct {
	ContainerIP   string `json:"container_ip,omitempty"`
	ContainerPort int32  `json:"container_port"`
	HostIP        string `json:"host_ip,omitempty"`
	HostPort      int32  `json:"host_port,omitempty"`
}

// Exit is how a container ended.
type Exit struct {
	Kind    ExitKind `json:"kind"`
	Code    int32    `json:"code"`
	Message string   `json:"message,omitempty"`
	// NotHere says that it did not start for what its machine lacked.
	NotHere bool `json:"not_here,omitempty"`
}

// ExitKind says whether a program ended or something else did.
type ExitKind string

// The kinds of exits.
const (
	Exited     ExitKind = "exited"
	NotStarted ExitKind = "not_started"
	Lost       ExitKind = "lost"
)

// Stop is a wish to end an allocation.
type Stop struct {
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
	// By is when an allocation that is asked to stop is killed.
	By    time.Time `json:"by,omitzero"`
	Acked bool      `json:"acked,omitempty"`
}

// Failure is the first container that did not end well.
type Failure struct {
	Rank int  `json:"rank"`
	Exit Exit `json:"exit"`
}

// Ending is how an allocation ended.
type Ending struct {
	At    time.Time `json:"at"`
	Cause rm.Cause  `json:"cause"`
	// Status is for people; Code is the program's own, nil when there is none.
	Status string `json:"status"`
	Code   *int32 `json:"code,omitempty"`
	// Again says that another allocation follows.
	Again bool `json:"again,omitempty"`
}

// Line is one line that the master writes into a task's log.
type Line struct {
	At    time.Time `json:"at"`
	Level string    `json:"level"`
	Text  string    `json:"text"`
}

// Levels of the master's lines.
const (
	levelInfo    = "INFO"
	levelWarning = "WARNING"
	levelError   = "ERROR"
)

func (a *Allocation) addMessage(at time.Time, level, format string, args ...any) {
	a.Lines = append(a.Lines[:len(a.Lines):len(a.Lines)], Line{At: at, Level: level, Text: fmt.Sprintf(format, args...)})
}

func exitOf(e *agentv1.Exit) *Exit {
	out := &Exit{Code: e.GetCode(), Message: e.GetMessage(), NotHere: e.GetNotHere()}
	switch e.GetKind() {
	case agentv1.Exit_KIND_EXITED:
		out.Kind = Exited
	case agentv1.Exit_KIND_NOT_STARTED:
		out.Kind = NotStarted
	default:
		out.Kind = Lost
	}
	return out
}

func devicesOf(list []*apiv1.Device) []Device {
	var out []Device
	for _, d := range list {
		out = append(out, Device{ID: d.GetId(), Brand: d.GetBrand(), UUID: d.GetUuid(), Type: d.GetType().String()})
	}
	return out
}

// API is the device as clients know it.
func (d Device) API() *apiv1.Device {
	return &apiv1.Device{Id: d.ID, Brand: d.Brand, Uuid: d.UUID, Type: apiv1.Device_Type(apiv1.Device_Type_value[d.Type])}
}
