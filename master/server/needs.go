package server

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/token"
)

// Errors of these interfaces are shown to the client with the code that
// master/api/status finds in them, and those of master/rm with theirs. Messages that
// they return belong to them and are not changed.

// Accounts is who may call.
type Accounts interface {
	Login(ctx context.Context, r *apiv1.LoginRequest, addr string) (token.Text, *apiv1.User, error)
	Logout(ctx context.Context, text string) error
	// UserOf is whose user token this is; AllocationOf whose allocation token.
	UserOf(text string) (*apiv1.User, error)
	AllocationOf(text string) (u *apiv1.User, allocation string, err error)

	Users() []*apiv1.User
	User(id int32) (*apiv1.User, error)
	UserNamed(username string) (*apiv1.User, error)
	CreateUser(ctx context.Context, by *apiv1.User, r *apiv1.PostUserRequest) (*apiv1.User, error)
	PatchUser(ctx context.Context, by *apiv1.User, id int32, p *apiv1.PatchUser) (*apiv1.User, error)
}

// Tasks is what users run. Ids are as the client gave them.
type Tasks interface {
	// Launch starts a command. A refused one was not started.
	Launch(ctx context.Context, by *apiv1.User, r *apiv1.LaunchCommandRequest) (*apiv1.LaunchCommandResponse, error)
	// Commands lists all that are remembered, oldest first.
	Commands() []*apiv1.Command
	Command(id string) (*apiv1.Command, *structpb.Struct, error)
	// KillCommand ends one; one that has ended is not an error.
	KillCommand(ctx context.Context, by *apiv1.User, id string) (*apiv1.Command, error)
	SetCommandPriority(ctx context.Context, by *apiv1.User, id string, priority int) (*apiv1.Command, error)

	// Summaries is every allocation that is queued or running, by its id.
	Summaries() map[string]*apiv1.AllocationSummary
	// Task is one task, ended or not, and why it waits.
	Task(ctx context.Context, id string) (t *apiv1.Task, reason string, err error)
	// TaskContext is the gzipped tar of the task's files, empty for none.
	TaskContext(ctx context.Context, id string) ([]byte, error)
	// TaskOwner is the user who started a task.
	TaskOwner(ctx context.Context, id string) (userID int32, err error)

	// SetReady and SetWaiting are what an allocation says of its service.
	SetReady(ctx context.Context, allocation string) error
	SetWaiting(ctx context.Context, allocation string) error
	// AwaitPreemption is true as soon as the allocation must stop, and false
	// when ctx ends first. It looks before it waits.
	AwaitPreemption(ctx context.Context, allocation string) (bool, error)
	// AckPreemption says that the allocation has seen it and will stop.
	AckPreemption(ctx context.Context, allocation string) error
	// SetAccelerators keeps what a container sees.
	SetAccelerators(ctx context.Context, allocation string, d *apiv1.AcceleratorData) error
}

// LogQuery says which lines of a task are wanted. Empty filters let all through.
type LogQuery struct {
	Task string
	// Limit is the most lines, 0 for all. With Descending they are the last ones,
	// newest first.
	Limit      int
	Descending bool
	// Follow goes on until the task has ended and its last line was sent.
	Follow bool

	AllocationIDs []string
	AgentIDs      []string
	ContainerIDs  []string
	RankIDs       []int32
	Sources       []string
	Stdtypes      []string
	Levels        []apiv1.LogLevel
	// Search is a part of the line, or a pattern when Regex is set.
	Search string
	Regex  bool
	Before time.Time
	After  time.Time
}

// TaskLogs is what tasks write.
type TaskLogs interface {
	// ShipTaskLogs stores lines that a task sends itself, all of one task.
	ShipTaskLogs(ctx context.Context, task string, lines []*apiv1.TaskLog) error
	// TaskLogs calls send for each line that q asks for, in its order.
	TaskLogs(ctx context.Context, q LogQuery, send func(*apiv1.TaskLogsResponse) error) error
	// TaskLogFields is what the filters of a task may be.
	TaskLogFields(ctx context.Context, task string) (*apiv1.TaskLogsFieldsResponse, error)
}

// Queue is who is served when; rm.ResourceManager has these methods.
type Queue interface {
	Change(ctx context.Context, id rm.JobID, c rm.Change) error
	Queue(pool string) []*apiv1.Job
	Pools() []*apiv1.ResourcePool
}

// Machines is where tasks run; rm.Machines has these methods.
type Machines = rm.Machines
