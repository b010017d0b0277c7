package server

import (
	"context"
	"io"
	"iter"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/master/token"
)

// Errors of these interfaces are shown to the client with the code that
// master/api/status finds in them, and those of master/rm with theirs. Messages that
// they return belong to them and are not changed.

// Accounts is who may call.
type Accounts interface {
	Login(ctx context.Context, r *apiv1.LoginRequest, addr string) (token.Text, *apiv1.User, error)
	Logout(ctx context.Context, text string) error
	// UserOf is whose user token this is, and for one inside a task whose allocation;
	// AllocationOf whose allocation token.
	UserOf(text string) (u *apiv1.User, inTask string, err error)
	AllocationOf(text string) (u *apiv1.User, allocation string, err error)

	Users() []*apiv1.User
	User(id int32) (*apiv1.User, error)
	UserNamed(username string) (*apiv1.User, error)
	CreateUser(ctx context.Context, by *apiv1.User, r *apiv1.PostUserRequest) (*apiv1.User, error)
	// PatchUser changes a user; text is the token that asks.
	PatchUser(ctx context.Context, by *apiv1.User, text string, id int32, p *apiv1.PatchUser) (*apiv1.User, error)

	// Sessions lists what acts as a user; text is the token that asks.
	Sessions(by *apiv1.User, text string, id int32) ([]*apiv1.Session, error)
	// EndSession ends one, or all for "all", and says how many.
	EndSession(ctx context.Context, by *apiv1.User, id int32, session string) (int, error)
}

// Admissions is which machines may be agents. By is the user who asks.
type Admissions interface {
	// Revoke ends an agent and keeps it from joining again. One that is not known is
	// not an error.
	Revoke(ctx context.Context, agent, by string) error
	// Readmit takes Revoke back. One that is not revoked is not an error.
	Readmit(ctx context.Context, agent string) error
	Revoked() []*apiv1.RevokedAgent

	CreateJoinToken(ctx context.Context, r *apiv1.CreateJoinTokenRequest, by string) (*apiv1.CreateJoinTokenResponse, error)
	// JoinTokens lists those that have not expired.
	JoinTokens() []*apiv1.JoinToken
	// RevokeJoinToken ends one that is named by its id or its whole text.
	RevokeJoinToken(ctx context.Context, name, by string) (*apiv1.JoinToken, error)
	// RotateKeys makes a new key for join tokens and credentials, beside the last.
	RotateKeys(ctx context.Context) error
}

// Tasks is what users run. Ids are as the client gave them. Who may change what is
// theirs to say: by is the user, and allocation the task's own processes.
type Tasks interface {
	// Launch starts a command. A refused one was not started. With contents the files'
	// are there, each to be read once before Launch returns, and not in r.
	Launch(ctx context.Context, by *apiv1.User, r *apiv1.LaunchCommandRequest, contents func(file int) (io.Reader, int64)) (*apiv1.LaunchCommandResponse, error)
	// Commands is a part of those that are listed.
	Commands(ctx context.Context, q task.CommandQuery) ([]*apiv1.Command, error)
	Command(ctx context.Context, id string) (*apiv1.GetCommandResponse, error)
	// Kill ends a command; one that has ended is not an error.
	Kill(ctx context.Context, by *apiv1.User, id string) (*apiv1.KillCommandResponse, error)
	// ArrayCommands lists those of an array of commands, by index.
	ArrayCommands(ctx context.Context, array string) ([]*apiv1.Command, error)
	// KillArray ends those of an array of commands that have not ended.
	KillArray(ctx context.Context, by *apiv1.User, array string) (*apiv1.KillTaskArrayResponse, error)
	SetPriority(ctx context.Context, by *apiv1.User, r *apiv1.SetCommandPriorityRequest) (*apiv1.SetCommandPriorityResponse, error)
	// ChangeJob alters a job in its queue.
	ChangeJob(ctx context.Context, by *apiv1.User, id rm.JobID, c rm.Change) error

	// Summaries is every allocation that is queued or running, in no order, each as write has
	// it, which is always the same one.
	Summaries(write task.Summary) iter.Seq2[[]byte, error]
	// Task is one task, ended or not, and why it waits.
	Task(ctx context.Context, id string) (*apiv1.GetTaskResponse, error)
	// Owner is the id of the user who started a task, ended or not.
	Owner(ctx context.Context, id string) (int32, error)
	// ContextDirectory is the gzipped tar of the task's files in parts, and its size in
	// bytes, 0 for none.
	ContextDirectory(ctx context.Context, id string) (size int64, parts iter.Seq2[[]byte, error], err error)

	// Preempt asks an allocation to save itself and stop, to be run again later.
	Preempt(ctx context.Context, by *apiv1.User, allocation string) error

	// Ready and Waiting are what an allocation says of its service.
	Ready(ctx context.Context, allocation string) error
	Waiting(ctx context.Context, allocation string) error
	// PreemptionSignal is true as soon as the allocation must stop, and false
	// when timeout has passed first. It looks before it waits.
	PreemptionSignal(ctx context.Context, allocation string, timeout time.Duration) (bool, error)
	// Rendezvous is where the containers of an allocation are, for one of them. It waits
	// until all have asked; after timeout the error's code is Unavailable.
	Rendezvous(ctx context.Context, allocation, container string, timeout time.Duration) (*apiv1.RendezvousInfo, error)
	// FindAllocation is one allocation, running or ended, of a task that is remembered.
	FindAllocation(ctx context.Context, allocation string) (*apiv1.Allocation, error)
	// MarkDaemon says that an allocation need not wait for the end of a container.
	MarkDaemon(ctx context.Context, allocation, container string) error
	// AllGather waits until all programs of an allocation have sent something, and answers
	// that. After a while the error's code is Unavailable. AllRunning is the same for
	// programs that say that they run.
	AllGather(ctx context.Context, r *apiv1.AllocationAllGatherRequest) ([]*structpb.Struct, error)
	AllRunning(ctx context.Context, r *apiv1.AllocationAllGatherRequest) ([]*structpb.Struct, error)
	// AckPreemption says that the allocation has seen it and will stop.
	AckPreemption(ctx context.Context, allocation string) error
	// PostAcceleratorData keeps what a container sees.
	PostAcceleratorData(ctx context.Context, r *apiv1.PostAllocationAcceleratorDataRequest) error
}

// TaskLogs is what tasks write.
type TaskLogs interface {
	// Ship stores lines of one task that by may write: the owner, also where the lines
	// come from the task itself.
	Ship(ctx context.Context, by *apiv1.User, r *apiv1.PostTaskLogsRequest) error
	// Owner is the user whose task it is.
	Owner(ctx context.Context, id string) (userID int32, err error)
	// Log reads the lines that f asks for, in its order; with follow until the task has
	// ended and its last line was read.
	Log(ctx context.Context, f log.Filter, follow bool) (iter.Seq2[log.Entry, error], error)
}

// Queue is who is served when; rm.ResourceManager has these methods.
type Queue interface {
	// Queue lists a part of the jobs in the order in which they are served.
	Queue(p rm.QueuePart) []*apiv1.Job
	Pools() []*apiv1.ResourcePool
	// PoolSettings lists the same pools without counting what is in them.
	PoolSettings() []rm.PoolSettings
}

// Launches is the machines that the master has launched.
type Launches interface {
	// History lists those of a pool, also those that are gone, newest first.
	History(ctx context.Context, pool string) ([]*apiv1.Machine, error)
}

// Machines is where tasks run; rm.Machines has these methods.
type Machines = rm.Machines
