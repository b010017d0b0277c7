package server

import (
	"context"
	"io"
	"iter"
	"net/http"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/token"
)

// Errors returned by the interfaces in this file are sent to clients with their code from
// master/api/status or, for errors of master/rm, a corresponding one. Returned messages belong to the
// implementation and must not be changed.

// Accounts authenticates callers and manages users.
type Accounts interface {
	Login(ctx context.Context, r *apiv1.LoginRequest, addr string) (token.Text, *apiv1.User, error)
	Logout(ctx context.Context, text string) error
	// UserOf returns the owner of a user token and, for a token inside a task, the allocation.
	// AllocationOf does so for the token of an allocation.
	UserOf(text string) (u *apiv1.User, inTask string, err error)
	AllocationOf(text string) (u *apiv1.User, allocation string, err error)

	Users() []*apiv1.User
	User(id int32) (*apiv1.User, error)
	UserNamed(username string) (*apiv1.User, error)
	CreateUser(ctx context.Context, by *apiv1.User, r *apiv1.PostUserRequest) (*apiv1.User, error)
	// PatchUser changes a user; text is the caller's token.
	PatchUser(ctx context.Context, by *apiv1.User, text string, id int32, p *apiv1.PatchUser) (*apiv1.User, error)

	// Sessions lists the sessions and tokens of a user; text is the caller's token.
	Sessions(by *apiv1.User, text string, id int32) ([]*apiv1.Session, error)
	// EndSession ends a session, or all for "all", and returns the number of ended sessions.
	EndSession(ctx context.Context, by *apiv1.User, id int32, session string) (int, error)
}

// Services gives access to the services of tasks.
type Services interface {
	// Handler serves the visitors of services.
	http.Handler
	// Open returns the address of a service for a browser: a path of the master, or an address at another
	// host name. It contains a ticket on behalf of the caller's token text.
	Open(ctx context.Context, by *apiv1.User, text, service string) (address string, err error)
	// Address returns the path of a task's default service, which need not run yet, with a ticket on behalf of
	// the caller's token text.
	Address(text, task string) (path string, err error)
	// IsServiceHost reports whether services have this host name for themselves.
	IsServiceHost(host string) bool
}

// Admissions controls which machines may join as agents. by is the calling user.
type Admissions interface {
	// Revoke disconnects an agent and prevents it from joining again. Revoking an unknown agent is not an
	// error.
	Revoke(ctx context.Context, agent, by string) error
	// Readmit reverts Revoke. Readmitting an agent that is not revoked is not an error.
	Readmit(ctx context.Context, agent string) error
	Revoked() []*apiv1.RevokedAgent

	CreateJoinToken(ctx context.Context, r *apiv1.CreateJoinTokenRequest, by string) (*apiv1.CreateJoinTokenResponse, error)
	// JoinTokens lists the join tokens that have not expired.
	JoinTokens() []*apiv1.JoinToken
	// RevokeJoinToken revokes a token that is identified by its ID or its text.
	RevokeJoinToken(ctx context.Context, name, by string) (*apiv1.JoinToken, error)
	// RotateKeys creates a new key for join tokens and credentials. The previous key remains valid.
	RotateKeys(ctx context.Context) error
}

// Tasks manages the tasks of users and checks the permissions of callers. by is the user, and allocation a
// task's own processes. IDs are not validated before.
type Tasks interface {
	// Launch starts a command. If it returns an error, nothing was started. If contents is not nil, it
	// returns the contents of the files, which are then not in r. Each is read once, before Launch
	// returns.
	Launch(ctx context.Context, by *apiv1.User, r *apiv1.LaunchCommandRequest, contents func(file int) (io.Reader, int64)) (*apiv1.LaunchCommandResponse, error)
	// Preview returns what would become of a command that was launched now. It changes nothing.
	Preview(ctx context.Context, by *apiv1.User, r *apiv1.LaunchCommandRequest) (*apiv1.PreviewCommandResponse, error)
	// Commands returns a page of the listed commands.
	Commands(ctx context.Context, q task.CommandQuery) ([]*apiv1.Command, error)
	Command(ctx context.Context, id string) (*apiv1.GetCommandResponse, error)
	// Detail is Command for a listed command or one of the history, with its place in the queue and the
	// last lines of its program.
	Detail(ctx context.Context, id string) (*apiv1.GetCommandResponse, error)
	// PlaceInQueue returns the place of a job in the queue of a pool, or nil if it is not in the queue.
	PlaceInQueue(pool string, job rm.JobID) *apiv1.QueuePlace
	// LastLines returns the last lines that the program of a task has printed.
	LastLines(ctx context.Context, id string) ([]string, error)
	// History returns a page of commands, listed or not.
	History(ctx context.Context, q task.HistoryQuery) (*apiv1.ListTasksResponse, error)
	// Named returns listed commands and arrays whose ID or name begins with text, or the latest ones
	// without text. There may be more than limit.
	Named(ctx context.Context, text string, limit int) ([]*apiv1.Name, error)
	// Kill kills a command. Killing an ended command is not an error.
	Kill(ctx context.Context, by *apiv1.User, id string) (*apiv1.KillCommandResponse, error)
	// LaunchKind, PreviewKind, OfKind, KillKind and SetKindPriority are like those for commands, for tasks of another
	// kind.
	LaunchKind(ctx context.Context, k lifecycle.Kind, by *apiv1.User, r *apiv1.LaunchCommandRequest, contents func(file int) (io.Reader, int64)) (*apiv1.LaunchCommandResponse, error)
	PreviewKind(ctx context.Context, k lifecycle.Kind, by *apiv1.User, r *apiv1.LaunchCommandRequest) (*apiv1.PreviewCommandResponse, error)
	OfKind(ctx context.Context, k lifecycle.Kind, id string) (*apiv1.GetCommandResponse, error)
	KillKind(ctx context.Context, by *apiv1.User, k lifecycle.Kind, id string) (*apiv1.Command, error)
	SetKindPriority(ctx context.Context, by *apiv1.User, k lifecycle.Kind, id string, priority int) (*apiv1.Command, error)
	// Board returns what a TensorBoard shows.
	Board(ctx context.Context, id string) (*lifecycle.Board, error)
	// CreateGeneric launches a generic task in a workspace. KillGeneric kills one with its descendants, or with
	// fromRoot its whole tree. PauseGeneric and UnpauseGeneric change it and its descendants, and may be
	// repeated.
	CreateGeneric(ctx context.Context, by *apiv1.User, workspace int32, r *apiv1.CreateGenericTaskRequest, contents func(file int) (io.Reader, int64)) (*apiv1.CreateGenericTaskResponse, error)
	GenericConfig(ctx context.Context, by *apiv1.User, id string) (*apiv1.GetGenericTaskConfigResponse, error)
	KillGeneric(ctx context.Context, by *apiv1.User, id string, fromRoot bool) error
	PauseGeneric(ctx context.Context, by *apiv1.User, id string) error
	UnpauseGeneric(ctx context.Context, by *apiv1.User, id string) error
	// Shell returns a shell, with its key for those who may enter it.
	Shell(ctx context.Context, by *apiv1.User, id string) (*apiv1.GetShellResponse, error)
	// ArrayCommands lists the commands of an array by index.
	ArrayCommands(ctx context.Context, array string) ([]*apiv1.Command, error)
	// KillArray kills the commands of an array that have not ended.
	KillArray(ctx context.Context, by *apiv1.User, array string) (*apiv1.KillTaskArrayResponse, error)
	SetPriority(ctx context.Context, by *apiv1.User, r *apiv1.SetCommandPriorityRequest) (*apiv1.SetCommandPriorityResponse, error)
	// ChangeJob changes a job in its queue.
	ChangeJob(ctx context.Context, by *apiv1.User, id rm.JobID, c rm.Change) error

	// Summaries returns every queued or running allocation, in no particular order, encoded by write.
	// Callers always pass the same write.
	Summaries(write task.Summary) iter.Seq2[[]byte, error]
	// Task returns a running or ended task, and the reason why it waits.
	Task(ctx context.Context, id string) (*apiv1.GetTaskResponse, error)
	// Owner returns the ID of the user who started a running or ended task.
	Owner(ctx context.Context, id string) (int32, error)
	// CopyContext stores the context of a task as one of the user, and returns its ID, or "" if the task
	// has none.
	CopyContext(ctx context.Context, to *apiv1.User, id string) (string, error)
	// ContextDirectory returns the gzipped tar of the task's files in parts, and its size in bytes, which
	// is 0 if there are no files.
	ContextDirectory(ctx context.Context, id string) (size int64, parts iter.Seq2[[]byte, error], err error)

	// Enter returns the entrance to the running container of a rank of a task.
	Enter(ctx context.Context, by *apiv1.User, id string, rank int) (task.Entrance, error)

	// Preempt asks an allocation to save a checkpoint and stop; its task is run again later.
	Preempt(ctx context.Context, by *apiv1.User, allocation string) error

	// Ready and Waiting record the state of an allocation's service.
	Ready(ctx context.Context, allocation string) error
	Waiting(ctx context.Context, allocation string) error
	// PreemptionSignal returns true as soon as the allocation must stop, and false after timeout. It
	// checks the state before it waits.
	PreemptionSignal(ctx context.Context, allocation string, timeout time.Duration) (bool, error)
	// Rendezvous returns the addresses of an allocation's containers to one of them. It waits until all
	// have called it, and returns Unavailable after timeout.
	Rendezvous(ctx context.Context, allocation, container string, timeout time.Duration) (*apiv1.RendezvousInfo, error)
	// FindAllocation returns a running or ended allocation of a stored task.
	FindAllocation(ctx context.Context, allocation string) (*apiv1.Allocation, error)
	// MarkDaemon records that an allocation need not wait for the end of a container.
	MarkDaemon(ctx context.Context, allocation, container string) error
	// AllGather waits until all programs of an allocation have sent their data, and returns it. After a
	// time limit it returns Unavailable. AllRunning does the same for programs that report that they are
	// running.
	AllGather(ctx context.Context, r *apiv1.AllocationAllGatherRequest) ([]*structpb.Struct, error)
	AllRunning(ctx context.Context, r *apiv1.AllocationAllGatherRequest) ([]*structpb.Struct, error)
	// AckPreemption records that the allocation has received the signal and will stop.
	AckPreemption(ctx context.Context, allocation string) error
	// PostAcceleratorData stores the accelerators of a container.
	PostAcceleratorData(ctx context.Context, r *apiv1.PostAllocationAcceleratorDataRequest) error
}

// TaskLogs stores the logs of tasks.
type TaskLogs interface {
	// Ship stores lines of a task. by must be its owner, even if the task itself sends the lines.
	Ship(ctx context.Context, by *apiv1.User, r *apiv1.PostTaskLogsRequest) error
	// Owner returns the ID of a task's owner.
	Owner(ctx context.Context, id string) (userID int32, err error)
	// Log returns the lines that f selects, in its order. With follow, it continues until the task has
	// ended and its last line was read.
	Log(ctx context.Context, f log.Filter, follow bool) (iter.Seq2[log.Entry, error], error)
}

// Queue is the job queue. rm.ResourceManager implements it.
type Queue interface {
	// Queue returns a page of the jobs in the order of the queue.
	Queue(p rm.QueuePart) []*apiv1.Job
	Pools() []*apiv1.ResourcePool
	// PoolSettings returns the pools without counting their contents.
	PoolSettings() []rm.PoolSettings
}

// Launches lists the machines that the master has launched.
type Launches interface {
	// History returns the machines of a pool, including terminated ones, newest first.
	History(ctx context.Context, pool string) ([]*apiv1.Machine, error)
}

// Machines manages agents and slots. rm.Machines defines the methods.
type Machines = rm.Machines
