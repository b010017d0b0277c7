package server

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/accounting"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/auth"
	"github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/model"
	"github.com/det-deploy/det-deploy/master/proxy"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/template"
	"github.com/det-deploy/det-deploy/master/workspace"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const password = "Initial-1234"

var start = time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)

// world is a server with real accounts and a fake cluster of two agents and one task.
type world struct {
	*Server
	auth    *auth.Auth
	store   *store.Store
	cluster *cluster
	ring    *Ring
	admin   string
	user    string
	task    string // the token of allocation t1.1, owned by user
	tools   string // the token of the user's tools in it
}

func newWorld(t testing.TB, edit ...func(*Config)) *world {
	t.Helper()
	st := storetest.New(t)
	a, err := auth.Open(t.Context(), auth.Config{Store: st, InitialPassword: password})
	if err != nil {
		t.Fatal(err)
	}
	spaces, err := workspace.Open(t.Context(), workspace.Config{Store: st, Users: a})
	if err != nil {
		t.Fatal(err)
	}
	templates, err := template.Open(t.Context(), template.Config{Store: st, Workspaces: spaces})
	if err != nil {
		t.Fatal(err)
	}
	models, err := model.Open(t.Context(), model.Config{Store: st, Workspaces: spaces, Users: a})
	if err != nil {
		t.Fatal(err)
	}
	spaces.Attach(nil, templates, models)
	w := &world{auth: a, store: st, cluster: newCluster(), ring: NewRing(3, slog.DiscardHandler)}
	services := proxy.New(proxy.Config{
		Services: w.cluster, Visitors: a, Streams: func() rm.Streams { return noStreams{} }, Origin: &url.URL{Scheme: "https", Host: "services.example.com"},
	})
	cfg := Config{
		Identity: Identity{ClusterID: st.Meta().ClusterID, ClusterName: "lab", MasterID: "m1", Version: "1.2.3"},
		Accounts: a, Admissions: doors{a}, Workspaces: spaces, Templates: templates, Models: models, Tasks: w.cluster, Services: services, Contexts: w.cluster, Logs: w.cluster, Queue: w.cluster, Machines: w.cluster, MasterLog: w.ring, Audit: &notes{},
		Settings: func() map[string]any {
			return map[string]any{"resource_manager": map[string]any{"type": "agent"}, "feature_switches": []string{}, "port": 8080}
		},
		Book: &accounting.Book{
			Store: st, Placed: placed,
			Experiment: func(rm.JobID) accounting.Subject {
				return accounting.Subject{ID: 7, Name: "digits", Labels: []string{"vision"}, Project: 3}
			},
			Workspace: func(int32) string { return "lab" }, Project: func(int32) string { return "lab / vision" }, Now: func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) },
		},
		SpoolDir: t.TempDir(), CleanUpLogs: func(context.Context) (int64, error) { return 42, nil },
	}
	for _, change := range edit {
		change(&cfg)
	}
	w.Server, err = New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.admin, w.user = w.login(t, "admin"), w.login(t, "determined")
	own, tools, err := a.TaskTokens(t.Context(), 2, "t1.1")
	if err != nil {
		t.Fatal(err)
	}
	w.task, w.tools = string(own), string(tools)
	return w
}

func (w *world) login(t testing.TB, name string) string {
	t.Helper()
	text, _, err := w.auth.Login(t.Context(), &apiv1.LoginRequest{Username: name, Password: password}, "test")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// ask sends a request in the way that the det client does, without a Content-Type.
func (w *world) ask(t testing.TB, method, path, token, body string) *httptest.ResponseRecorder {
	t.Helper()
	return w.askIn(t.Context(), method, path, token, body)
}

func (w *world) askIn(ctx context.Context, method, path, token, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	if strings.HasPrefix(token, "ddtask") {
		r.Header.Set("Grpc-Metadata-x-allocation-token", "Bearer "+token)
	} else if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	return rec
}

// serve serves on a new port until the test ends.
func (w *world) serve(t testing.TB) *httptest.Server {
	t.Helper()
	hs := httptest.NewServer(w.handler)
	t.Cleanup(hs.Close)
	return hs
}

func squeeze(s string) string {
	return strings.NewReplacer(`": `, `":`, `, "`, `,"`, `}, {`, `},{`).Replace(strings.TrimSpace(s))
}

// cluster is a fake of the packages that run tasks.
type cluster struct {
	mu       sync.Mutex // guards launched
	launched []*apiv1.LaunchCommandRequest
	preempt  chan struct{}
	fail     error
	history  task.HistoryQuery // the last one
	follow   chan string
	// launching, if not nil, receives each launch, which then waits for goOn.
	launching, goOn chan struct{}
	torn            bool // reading a context fails
}

func newCluster() *cluster {
	return &cluster{preempt: make(chan struct{}), follow: make(chan string)}
}

func (c *cluster) Preview(context.Context, *apiv1.User, *apiv1.LaunchCommandRequest) (*apiv1.PreviewCommandResponse, error) {
	return &apiv1.PreviewCommandResponse{ResourcePool: "default"}, nil
}

func (c *cluster) Launch(_ context.Context, by *apiv1.User, r *apiv1.LaunchCommandRequest, contents func(int) (io.Reader, int64)) (*apiv1.LaunchCommandResponse, error) {
	if c.launching != nil {
		c.launching <- struct{}{}
		<-c.goOn
	}
	for i, f := range r.GetFiles() {
		if contents == nil {
			break
		}
		from, size := contents(i)
		b, err := io.ReadAll(from)
		if err != nil || int64(len(b)) != size {
			return nil, fmt.Errorf("%d bytes of %d, and %w", len(b), size, err)
		}
		f.Content = b
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		return nil, c.fail
	}
	c.launched = append(c.launched, r)
	return &apiv1.LaunchCommandResponse{Command: &apiv1.Command{Id: "new", Username: by.GetUsername()}, Config: r.GetConfig()}, nil
}

func (c *cluster) Commands(_ context.Context, q task.CommandQuery) ([]*apiv1.Command, error) {
	all := slices.DeleteFunc(commandList(), func(m *apiv1.Command) bool {
		return len(q.Usernames) > 0 && !slices.Contains(q.Usernames, m.GetUsername())
	})
	from, to := q.Cut(len(all))
	return all[from:to], nil
}

func commandList() []*apiv1.Command {
	return []*apiv1.Command{
		{Id: "t1", Username: "determined", UserId: 2, WorkspaceId: 1, StartTime: timestamppb.New(start), CommandLine: proto.String("login swordfish-t1")},
		{Id: "t2", Username: "admin", UserId: 1, WorkspaceId: 1, StartTime: timestamppb.New(start.Add(time.Second)), CommandLine: proto.String("login swordfish-t2")},
	}
}

func (c *cluster) Named(context.Context, string, int) ([]*apiv1.Name, error) {
	var out []*apiv1.Name
	for _, m := range commandList() {
		out = append(out, &apiv1.Name{Id: m.GetId(), Name: "calm-otter", Username: m.GetUsername()})
	}
	return out, nil
}

func (c *cluster) Command(_ context.Context, id string) (*apiv1.GetCommandResponse, error) {
	for _, m := range commandList() {
		if m.GetId() == id {
			return &apiv1.GetCommandResponse{Command: m, Config: commandConfig()}, nil
		}
	}
	return nil, status.Missing("command", id)
}

func (c *cluster) Detail(ctx context.Context, id string) (*apiv1.GetCommandResponse, error) {
	out, err := c.Command(ctx, id)
	if err == nil {
		out.LastLines, out.Queue = []string{"hunter2"}, &apiv1.QueuePlace{JobsAhead: 3}
	}
	return out, err
}

func (c *cluster) PlaceInQueue(string, rm.JobID) *apiv1.QueuePlace {
	return &apiv1.QueuePlace{JobsAhead: 3}
}

func (c *cluster) LastLines(context.Context, string) ([]string, error) {
	return []string{"hunter2"}, nil
}

func (c *cluster) History(_ context.Context, q task.HistoryQuery) (*apiv1.ListTasksResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.history = q
	return &apiv1.ListTasksResponse{Tasks: commandList(), Next: "more"}, nil
}

// commandConfig returns a configuration with a secret.
func commandConfig() *structpb.Struct {
	cfg, err := structpb.NewStruct(map[string]any{
		"environment": map[string]any{"environment_variables": []any{"PASSWORD=hunter2"}},
		"resources":   map[string]any{"slots": 3, "devices": []any{map[string]any{"host_path": "/dev/hunter2"}}},
	})
	if err != nil {
		panic(err) // it is a constant
	}
	return cfg
}

func (c *cluster) Kill(ctx context.Context, _ *apiv1.User, id string) (*apiv1.KillCommandResponse, error) {
	m, err := c.Command(ctx, id)
	return &apiv1.KillCommandResponse{Command: m.GetCommand()}, err
}

func (c *cluster) LaunchKind(context.Context, lifecycle.Kind, *apiv1.User, *apiv1.LaunchCommandRequest, func(int) (io.Reader, int64)) (*apiv1.LaunchCommandResponse, error) {
	return &apiv1.LaunchCommandResponse{Command: &apiv1.Command{Id: "s1"}}, nil
}

func (c *cluster) PreviewKind(context.Context, lifecycle.Kind, *apiv1.User, *apiv1.LaunchCommandRequest) (*apiv1.PreviewCommandResponse, error) {
	return &apiv1.PreviewCommandResponse{Config: commandConfig()}, nil
}

func (c *cluster) OfKind(ctx context.Context, k lifecycle.Kind, id string) (*apiv1.GetCommandResponse, error) {
	if k == lifecycle.Command {
		return c.Command(ctx, id)
	}
	return nil, status.Missing(strings.ToLower(string(k)), id)
}

func (c *cluster) KillKind(_ context.Context, _ *apiv1.User, k lifecycle.Kind, id string) (*apiv1.Command, error) {
	return nil, status.Missing(strings.ToLower(string(k)), id)
}

func (c *cluster) SetKindPriority(_ context.Context, _ *apiv1.User, k lifecycle.Kind, id string, _ int) (*apiv1.Command, error) {
	return nil, status.Missing(strings.ToLower(string(k)), id)
}

func (c *cluster) Board(_ context.Context, id string) (*lifecycle.Board, error) {
	return nil, status.Missing("tensorboard", id)
}

func (c *cluster) CreateGeneric(_ context.Context, _ *apiv1.User, _ int32, r *apiv1.CreateGenericTaskRequest, _ func(int) (io.Reader, int64)) (*apiv1.CreateGenericTaskResponse, error) {
	if r.GetConfig() == "" {
		return nil, status.New(status.InvalidArgument, "config: must be set")
	}
	return &apiv1.CreateGenericTaskResponse{TaskId: "g1"}, nil
}

func (c *cluster) GenericConfig(_ context.Context, _ *apiv1.User, id string) (*apiv1.GetGenericTaskConfigResponse, error) {
	return &apiv1.GetGenericTaskConfigResponse{Config: "{}"}, missingGeneric(id)
}

func (c *cluster) KillGeneric(_ context.Context, _ *apiv1.User, id string, _ bool) error {
	return missingGeneric(id)
}

func (c *cluster) PauseGeneric(_ context.Context, _ *apiv1.User, id string) error {
	return missingGeneric(id)
}

func (c *cluster) UnpauseGeneric(_ context.Context, _ *apiv1.User, id string) error {
	return missingGeneric(id)
}

func missingGeneric(id string) error {
	if id == "g1" {
		return nil
	}
	return status.Missing("generic task", id)
}

func (c *cluster) Shell(_ context.Context, _ *apiv1.User, id string) (*apiv1.GetShellResponse, error) {
	if id != "s1" {
		return nil, status.Missing("shell", id)
	}
	return &apiv1.GetShellResponse{Shell: &apiv1.Shell{Id: "s1", PrivateKey: "key"}}, nil
}

func (c *cluster) KillArray(_ context.Context, _ *apiv1.User, id string) (*apiv1.KillTaskArrayResponse, error) {
	return &apiv1.KillTaskArrayResponse{ArrayId: id}, nil
}

func (c *cluster) ArrayCommands(context.Context, string) ([]*apiv1.Command, error) {
	return commandList(), nil
}

func (c *cluster) SetPriority(ctx context.Context, _ *apiv1.User, r *apiv1.SetCommandPriorityRequest) (*apiv1.SetCommandPriorityResponse, error) {
	m, err := c.Command(ctx, r.GetCommandId())
	return &apiv1.SetCommandPriorityResponse{Command: m.GetCommand()}, err
}

func (c *cluster) ChangeJob(_ context.Context, _ *apiv1.User, id rm.JobID, ch rm.Change) error {
	if id != "j1" {
		return status.Missing("job", string(id))
	}
	if n := ch.MaxSlots; n != nil && *n > 1000 {
		return status.New(status.InvalidArgument, "max_slots: %d arrived", *n)
	}
	return nil
}

func (c *cluster) Summaries(write task.Summary) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		yield(write(nil, &apiv1.AllocationSummary{TaskId: "t1", AllocationId: "t1.1"}))
	}
}

func (c *cluster) Task(ctx context.Context, id string) (*apiv1.GetTaskResponse, error) {
	if _, err := c.Command(ctx, id); err != nil {
		return nil, status.Missing("task", id)
	}
	config := commandConfig().String()
	return &apiv1.GetTaskResponse{Task: &apiv1.Task{TaskId: id, StartTime: timestamppb.New(start), Config: &config}}, nil
}

func (c *cluster) Owner(ctx context.Context, id string) (int32, error) {
	m, err := c.Command(ctx, id)
	if err != nil {
		return 0, status.Missing("task", id)
	}
	return m.GetCommand().GetUserId(), nil
}

func (c *cluster) Service(ctx context.Context, id string, port int) (task.Service, error) {
	owner, err := c.Owner(ctx, id)
	if err != nil {
		return task.Service{}, status.New(status.NotFound, "service not found: %s", id)
	}
	return task.Service{Task: rm.TaskID(id), Owner: owner, Container: "c1", Port: port}, nil
}

// noStreams are the streams of containers without programs.
type noStreams struct{ rm.Streams }

func (noStreams) Dial(context.Context, rm.ContainerID, int) (net.Conn, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: io.EOF}
}

func (c *cluster) CopyContext(context.Context, *apiv1.User, string) (string, error) { return "", nil }

func (c *cluster) ContextDirectory(context.Context, string) (int64, iter.Seq2[[]byte, error], error) {
	return 5, func(yield func([]byte, error) bool) {
		if !yield([]byte{1, 2, 3}, nil) {
			return
		}
		if c.torn {
			yield(nil, io.ErrUnexpectedEOF)
			return
		}
		yield([]byte{4, 5}, nil)
	}, nil
}

func (c *cluster) Limits() *apiv1.GetContextLimitsResponse {
	return &apiv1.GetContextLimitsResponse{Bytes: 1 << 30, Files: 7, PieceBytes: 1 << 20}
}

func (c *cluster) Announce(_ context.Context, by *apiv1.User, files []*apiv1.ContextFile) (*apiv1.PostContextResponse, error) {
	if len(files) == 0 {
		return nil, status.New(status.InvalidArgument, "no files")
	}
	return &apiv1.PostContextResponse{ContextId: by.GetUsername(), Missing: files[0].GetPieces()}, nil
}

func (c *cluster) AddPieces(_ context.Context, _ *apiv1.User, _ string, from io.Reader) (int, error) {
	b, err := io.ReadAll(from)
	return len(b), err
}

func (c *cluster) Ready(context.Context, string) error   { return nil }
func (c *cluster) Waiting(context.Context, string) error { return nil }

func (c *cluster) PreemptionSignal(ctx context.Context, _ string, timeout time.Duration) (bool, error) {
	if timeout <= 0 {
		return false, nil
	}
	select {
	case <-c.preempt:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func (c *cluster) Rendezvous(_ context.Context, _, container string, _ time.Duration) (*apiv1.RendezvousInfo, error) {
	if container != "c1" {
		return nil, status.Missing("resources", container)
	}
	return &apiv1.RendezvousInfo{Addresses: []string{"10.0.0.1"}, Rank: 1, Slots: []int32{8}}, nil
}

func (c *cluster) Preempt(_ context.Context, by *apiv1.User, allocation string) error {
	if allocation != "t1.1" {
		return status.Missing("allocation", allocation)
	}
	if by.GetUsername() == "" {
		return status.New(status.PermissionDenied, "nobody asks")
	}
	return nil
}

func (c *cluster) FindAllocation(_ context.Context, id string) (*apiv1.Allocation, error) {
	if id != "t1.1" {
		return nil, status.Missing("allocation", id)
	}
	return &apiv1.Allocation{TaskId: "t1", AllocationId: id, Slots: 8, State: apiv1.Task_STATE_RUNNING}, nil
}

func (c *cluster) MarkDaemon(_ context.Context, _, container string) error {
	if container != "c1" {
		return status.Missing("resources", container)
	}
	return nil
}

func (c *cluster) AllGather(_ context.Context, r *apiv1.AllocationAllGatherRequest) ([]*structpb.Struct, error) {
	return []*structpb.Struct{r.GetData(), {}}, nil
}

func (c *cluster) AllRunning(_ context.Context, r *apiv1.AllocationAllGatherRequest) ([]*structpb.Struct, error) {
	return []*structpb.Struct{r.GetData()}, nil
}

func (c *cluster) AckPreemption(context.Context, string) error { return nil }

func (c *cluster) PostAcceleratorData(context.Context, *apiv1.PostAllocationAcceleratorDataRequest) error {
	return nil
}

func (c *cluster) Ship(context.Context, *apiv1.User, *apiv1.PostTaskLogsRequest) error { return nil }

func (c *cluster) Log(ctx context.Context, f log.Filter, follow bool) (iter.Seq2[log.Entry, error], error) {
	return func(yield func(log.Entry, error) bool) {
		for i := f.From; i < 2; i++ {
			if !yield(log.Entry{ID: i, Task: f.Task, Line: log.Line{At: start, Text: "line"}, Agent: "a"}, nil) {
				return
			}
		}
		if follow && f.From > 0 { // after the lines read before
			yield(log.Entry{ID: f.From, Task: f.Task, Agent: "b"}, nil)
			return
		}
		for follow {
			select {
			case line, open := <-c.follow:
				if !open {
					yield(log.Entry{}, status.New(status.Internal, "the disk is on fire"))
					return
				}
				if !yield(log.Entry{Line: log.Line{Text: line}}, nil) {
					return
				}
			case <-ctx.Done():
				yield(log.Entry{}, ctx.Err())
				return
			}
		}
	}, nil
}

func (c *cluster) Queue(p rm.QueuePart) []*apiv1.Job {
	return rm.CutQueue(p, []*apiv1.Job{{JobId: "j1", Summary: &apiv1.JobSummary{State: apiv1.Job_STATE_QUEUED}}}, func(j *apiv1.Job) apiv1.Job_State { return j.GetSummary().GetState() })
}

func (c *cluster) Pools() []*apiv1.ResourcePool {
	return []*apiv1.ResourcePool{{Name: "default", DefaultComputePool: true, SchedulerType: apiv1.SchedulerType_SCHEDULER_TYPE_PRIORITY}}
}

func (c *cluster) PoolSettings() []rm.PoolSettings {
	return []rm.PoolSettings{{Name: "default", DefaultCompute: true}}
}

func (c *cluster) Agents() []*apiv1.Agent {
	slots := map[string]*apiv1.Slot{}
	for i := range 8 {
		slots[fmt.Sprintf("%03d", i)] = &apiv1.Slot{Id: fmt.Sprint(i), Enabled: true, Device: &apiv1.Device{Id: int32(i), Type: apiv1.Device_TYPE_CUDA}}
	}
	return []*apiv1.Agent{
		{Id: "a", RegisteredTime: timestamppb.New(start), Slots: slots, Enabled: true, SlotStats: &apiv1.SlotStats{}},
		{Id: "b/c", RegisteredTime: timestamppb.New(start), SlotStats: &apiv1.SlotStats{}, Sick: &apiv1.AgentSickness{Lack: "disk", Reason: "full"}},
	}
}

func (c *cluster) SetAgent(_ context.Context, id rm.AgentID, to rm.Switch) (*apiv1.Agent, error) {
	return &apiv1.Agent{Id: string(id), Enabled: to == rm.Enable, Draining: to == rm.Drain}, nil
}

func (c *cluster) SetSlot(_ context.Context, _ rm.AgentID, n int, to rm.Switch) (*apiv1.Slot, error) {
	return &apiv1.Slot{Id: fmt.Sprint(n), Enabled: to == rm.Enable, Draining: to == rm.Drain}, nil
}

// doors adapts master/auth in the way that the master's wiring does.
type doors struct{ *auth.Auth }

func (d doors) Revoke(ctx context.Context, agent, by string) error {
	return d.Auth.Revoke(ctx, agent, by, nothingLaunched{})
}

func (d doors) CreateJoinToken(ctx context.Context, r *apiv1.CreateJoinTokenRequest, by string) (*apiv1.CreateJoinTokenResponse, error) {
	text, j, err := d.Auth.CreateJoinToken(ctx, auth.NewJoin{
		Pool: r.GetResourcePool(), Uses: int(r.GetUses()), Life: time.Duration(r.GetValidForSeconds()) * time.Second, By: by,
	})
	return &apiv1.CreateJoinTokenResponse{Token: string(text), JoinToken: j}, err
}

var (
	_ Tasks    = (*cluster)(nil)
	_ TaskLogs = (*cluster)(nil)
	_ Queue    = (*cluster)(nil)
	_ Machines = (*cluster)(nil)
	_ Accounts = (*auth.Auth)(nil)
)

// nothingLaunched is a launcher without machines.
type nothingLaunched struct{}

func (nothingLaunched) Launched(cloud.InstanceID) (string, bool) { return "", false }
func (nothingLaunched) Joined(cloud.InstanceID)                  {}
