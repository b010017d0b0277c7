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

// Kind is the kind of a task, as programs read it in DET_TASK_TYPE.
type Kind string

// Task kinds.
const (
	// Command runs one program to its end.
	Command Kind = "COMMAND"
	// Shell waits for people who log in.
	Shell Kind = "SHELL"
	// Notebook serves JupyterLab.
	Notebook Kind = "NOTEBOOK"
	// TensorBoard shows the metrics of experiments.
	TensorBoard Kind = "TENSORBOARD"
	// Trial runs one trial of an experiment, as often as the experiment requires.
	Trial Kind = "TRIAL"
	// Generic runs programs to their end, on several machines if they need more slots than one has. It
	// may be paused and have children.
	Generic Kind = "GENERIC"
	// CheckpointGC deletes files of checkpoints.
	CheckpointGC Kind = "CHECKPOINT_GC"
)

// Task is the record of a task apart from its allocations. It changes rarely.
type Task struct {
	ID        rm.TaskID          `json:"id"`
	Kind      Kind               `json:"kind"`
	Name      string             `json:"name"`
	UserID    int32              `json:"user_id"`
	Username  string             `json:"username"`
	Unix      security.AgentUser `json:"unix"`
	Workspace int32              `json:"workspace"`
	Submitted time.Time          `json:"submitted"`
	// Ended is zero while an allocation is queued or running.
	Ended time.Time `json:"ended,omitzero"`

	Pool              string        `json:"pool"`
	Slots             int           `json:"slots"`
	MaxSlots          int           `json:"max_slots,omitempty"`
	Priority          int           `json:"priority,omitempty"`
	Weight            float64       `json:"weight"`
	Preemptible       bool          `json:"preemptible,omitempty"`
	PreemptionTimeout time.Duration `json:"preemption_timeout_ns"`

	// Job is the job of a task with an owner: many tasks may belong to one job.
	Job rm.JobID `json:"job,omitempty"`
	// JobName and Entity identify the job to clients.
	JobName string `json:"job_name,omitempty"`
	Entity  string `json:"entity,omitempty"`
	// Held reports that its owner holds it until the next start.
	Held bool `json:"held,omitempty"`
	// SingleNode restricts it to one machine, if its kind does not.
	SingleNode bool `json:"single_node,omitempty"`
	// Excluded lists the machines that it must not run on.
	Excluded []rm.AgentID `json:"excluded,omitempty"`

	// After are the tasks that must end before it is submitted. Those that have are removed.
	After []Dependency `json:"after,omitempty"`

	// Ancestors are the tasks that a generic task descends from: the last one is its parent.
	Ancestors []rm.TaskID `json:"ancestors,omitempty"`
	// ForkedFrom is the generic task whose configuration and files it has copied.
	ForkedFrom rm.TaskID `json:"forked_from,omitempty"`
	// NoPause reports that it cannot be paused.
	NoPause bool `json:"no_pause,omitempty"`
	// Paused reports that a user has paused it; see PauseState.
	Paused bool `json:"paused,omitempty"`

	// Array identifies the task within an array; nil if it is not in one.
	Array *Array `json:"array,omitempty"`

	// Config is the complete configuration, as written by spec.Store; empty for a task with an owner.
	Config     json.RawMessage `json:"config,omitempty"`
	HasContext bool            `json:"has_context,omitempty"`
	// HasHook reports that the files include a script to run before the program.
	HasHook bool `json:"has_hook,omitempty"`
	// ContextBytes is the packed size of the task's files.
	ContextBytes int64 `json:"context_bytes,omitempty"`
	// PodSpec is the pod spec in Config.
	PodSpec  json.RawMessage `json:"pod_spec,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
	// Labels are the keys and values by which lists are filtered.
	Labels map[string]string `json:"labels,omitempty"`
	// SSHSeed is the seed of the key with which people log in to a shell, until it has ended.
	SSHSeed []byte `json:"ssh_seed,omitempty"`
	// Key is what requests to the program of a notebook need, until it has ended.
	Key string `json:"key,omitempty"`
	// IdleTimeout is the time without use after which a notebook is ended, zero for never, and IdleType
	// what counts as use.
	IdleTimeout time.Duration `json:"idle_timeout_ns,omitempty"`
	IdleType    string        `json:"idle_type,omitempty"`
	// Notes are lines for the beginning of its log.
	Notes []string `json:"notes,omitempty"`
	// Board is what a TensorBoard shows; nil for other kinds.
	Board *Board `json:"board,omitempty"`
	// Exceeds reports that the task needs more slots than there are.
	Exceeds bool `json:"exceeds,omitempty"`

	// Last is the last allocation of a task that is no longer listed, without its lines.
	Last *Allocation `json:"last,omitempty"`
}

// Board is what a TensorBoard shows. Experiments and Trials are those that its user has selected.
type Board struct {
	Experiments []int32     `json:"experiments,omitempty"`
	Trials      []int32     `json:"trials,omitempty"`
	Parts       []BoardPart `json:"parts"`
}

// BoardPart is an experiment that a TensorBoard shows: the trials, or without trials all of it.
type BoardPart struct {
	Experiment int32   `json:"experiment"`
	Trials     []int32 `json:"trials,omitempty"`
}

// Array is the position of a task within an array submitted at once.
type Array struct {
	ID    string `json:"id"`
	Index int    `json:"index"`
	// Size is the number of tasks in the array.
	Size int `json:"size"`
}

// Request returns the request for the resource manager, without the properties of its kind.
func (t Task) Request(a Allocation) rm.Request {
	return rm.Request{
		Allocation: a.ID, Task: t.ID, Name: t.Name, JobName: t.JobName, Entity: t.Entity,
		Username: t.Username, UserID: t.UserID, Pool: t.Pool, Slots: t.Slots, Priority: t.Priority, Weight: t.Weight,
		MaxSlots: t.MaxSlots, Preemptible: t.Preemptible, PreemptionTimeout: t.PreemptionTimeout, Submitted: t.Submitted,
		PodSpec: t.PodSpec, ExcludedAgents: t.Excluded,
		NotBefore: a.NotBefore, Delayed: a.Delayed, Avoid: a.Avoid,
	}
}

// Allocation is one attempt to run a task.
type Allocation struct {
	ID     rm.AllocationID `json:"id"`
	Task   rm.TaskID       `json:"task"`
	Number int             `json:"number"`
	// Run is the number of the run, assigned by its owner, from 1; 0 for a task without an owner. A run
	// that could not start because a machine lacked something is repeated with the same number.
	Run      int       `json:"run,omitempty"`
	Name     string    `json:"name"`
	State    State     `json:"state"`
	Created  time.Time `json:"created"`
	Assigned time.Time `json:"assigned,omitzero"`
	Started  time.Time `json:"started,omitzero"`
	Pool     string    `json:"pool,omitempty"`
	// Price is the price of a slot at the placement; nil if unknown.
	Price      *rm.Price   `json:"price,omitempty"`
	Containers []Container `json:"containers,omitempty"`
	// Ports are the assigned ports, in the order of the request; nil if its containers do not share a network.
	Ports []int `json:"ports,omitempty"`
	Ready bool  `json:"ready,omitempty"`
	// Waiting is the program's report that it runs but has nothing to do yet.
	Waiting bool `json:"waiting,omitempty"`
	// Listens reports that the program listens for the preemption signal.
	Listens bool `json:"listens,omitempty"`
	// Waited is the kind of the last reason why no machines were launched.
	Waited string `json:"waited,omitempty"`

	Killed    *Stop    `json:"killed,omitempty"`
	Preempted *Stop    `json:"preempted,omitempty"`
	Pause     *Stop    `json:"pause,omitempty"` // it stops and is continued by the next allocation
	Failure   *Failure `json:"failure,omitempty"`
	End       *Ending  `json:"end,omitempty"`

	// SSHSeed is the seed of the key that the containers of this allocation share; nil for one
	// container.
	SSHSeed []byte `json:"ssh_seed,omitempty"`
	// Missed is the last line about containers that others wait for.
	Missed string `json:"missed,omitempty"`

	// Gathered is the data that its programs last exchanged, by kind.
	Gathered map[GatherKind]Gathered `json:"gathered,omitempty"`

	// NotHere counts the consecutive failures to start the task because a machine lacked something;
	// NotBefore is when it is tried again, and Delayed the reason for the delay.
	NotHere   int       `json:"not_here,omitempty"`
	NotBefore time.Time `json:"not_before,omitzero"`
	Delayed   string    `json:"delayed,omitempty"`
	// Avoid lists the agents that could not start it, limited to the latest.
	Avoid []rm.AgentID `json:"avoid,omitempty"`

	// FirstLine is the number, within the task, of Lines[0].
	FirstLine int64 `json:"first_line"`
	// Lines are the master's lines in the task's log. They are stored with the change that they describe
	// and then copied into the log by number, so that each appears there once despite interruptions.
	Lines []Line `json:"lines,omitempty"`
}

// Container is one container of an allocation.
type Container struct {
	ID        rm.ContainerID `json:"id"`
	Agent     rm.AgentID     `json:"agent"`
	Rank      int            `json:"rank"`
	Devices   []Device       `json:"devices,omitempty"`
	State     ContainerState `json:"state"`
	Exit      *Exit          `json:"exit,omitempty"`
	Addresses []Address      `json:"addresses,omitempty"`
	// Host is the address at which the other containers reach it.
	Host string `json:"host,omitempty"`
	// Machine is equal for containers on the same machine; empty if unknown.
	Machine string `json:"machine,omitempty"`
	// Met reports that it has asked for the addresses of the others.
	Met bool `json:"met,omitempty"`
	// Daemon reports that the allocation does not wait for its end.
	Daemon bool `json:"daemon,omitempty"`
}

// Device is one slot of a container.
type Device struct {
	ID    int32  `json:"id"`
	Brand string `json:"brand,omitempty"`
	UUID  string `json:"uuid,omitempty"`
	Type  string `json:"type"`
}

// Address is an address of a container's port.
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
	// NotHere reports that it did not start because its machine lacked something.
	NotHere bool `json:"not_here,omitempty"`
}

// ExitKind distinguishes the exit of a program from other ends.
type ExitKind string

// Exit kinds.
const (
	Exited     ExitKind = "exited"
	NotStarted ExitKind = "not_started"
	Lost       ExitKind = "lost"
)

// Stop is a request to end an allocation.
type Stop struct {
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
	// User is the name of the user who requested it; empty for the scheduler.
	User string `json:"user,omitempty"`
	// By is when an allocation that was asked to stop is killed.
	By    time.Time `json:"by,omitzero"`
	Acked bool      `json:"acked,omitempty"`
}

// Failure is the first container that failed.
type Failure struct {
	Rank int  `json:"rank"`
	Exit Exit `json:"exit"`
}

// Ending is how an allocation ended.
type Ending struct {
	At    time.Time `json:"at"`
	Cause rm.Cause  `json:"cause"`
	// Status is for people; Code is the program's exit code, nil if it has none.
	Status string `json:"status"`
	Code   *int32 `json:"code,omitempty"`
	// Again reports that another allocation follows.
	Again bool `json:"again,omitempty"`
}

// Line is one line of the master in a task's log.
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

// API returns the device as an API message.
func (d Device) API() *apiv1.Device {
	return &apiv1.Device{Id: d.ID, Brand: d.Brand, Uuid: d.UUID, Type: apiv1.Device_Type(apiv1.Device_Type_value[d.Type])}
}
