package workspace

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config/security"
	expconf "github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func admin() *apiv1.User { return &apiv1.User{Id: 1, Username: "admin", Admin: true} }
func ann() *apiv1.User   { return &apiv1.User{Id: 3, Username: "ann"} }
func bob() *apiv1.User   { return &apiv1.User{Id: 4, Username: "bob"} }

// world is a set of workspaces with its store.
type world struct {
	t     *testing.T
	store *store.Store
	exps  *experiments
	more  []Content
	*Workspaces
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, store: storetest.New(t), exps: &experiments{left: map[int32]int{}}}
	w.restart()
	return w
}

// restart reopens everything from the store.
func (w *world) restart() {
	w.t.Helper()
	w.Workspaces = openConfig(w.t, Config{Store: w.store, Pools: func() []string { return []string{"default", "gpu"} }})
	w.Attach(w.exps, w.more...)
}

func (w *world) workspace(by *apiv1.User, name string) *apiv1.Workspace {
	w.t.Helper()
	out, err := w.Create(w.t.Context(), by, &apiv1.PostWorkspaceRequest{Name: name})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) project(by *apiv1.User, in int32, name string) *apiv1.Project {
	w.t.Helper()
	out, err := w.CreateProject(w.t.Context(), by, &apiv1.PostProjectRequest{Name: name, WorkspaceId: in})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) code(err error, want status.Code, what string) {
	w.t.Helper()
	if err == nil || status.Of(err) != want {
		w.t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

func storage(t *testing.T, text string) *structpb.Struct {
	t.Helper()
	s := &structpb.Struct{}
	if err := s.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestChangesSurviveARestart(t *testing.T) {
	w := newWorld(t)
	team := w.workspace(ann(), "team")
	uid, name := int32(1001), "crew"
	pool := "gpu"
	if _, err := w.Patch(t.Context(), admin(), team.GetId(), &apiv1.PatchWorkspace{
		Name: &name, AgentUserGroup: &apiv1.AgentUserGroup{AgentUid: &uid}, DefaultComputeResourcePool: &pool,
		CheckpointStorageConfig: storage(t, `{"type":"s3","bucket":"b","access_key":"a","secret_key":"hunter2"}`),
	}); err != nil {
		t.Fatal(err)
	}
	p := w.project(bob(), team.GetId(), "Vision 3")
	if p.GetKey() != "VIS" {
		t.Errorf("key %q", p.GetKey())
	}
	if other := w.project(bob(), team.GetId(), "visual"); !strings.HasPrefix(other.GetKey(), "VIS") || len(other.GetKey()) != keyLimit {
		t.Errorf("the second key is %q", other.GetKey())
	}
	for range 2 {
		got, err := w.Get(ann(), team.GetId())
		if err != nil {
			t.Fatal(err)
		}
		if got.GetName() != "crew" || !got.GetPinned() || got.GetUsername() != "ann" || got.GetDefaultComputePool() != "gpu" || got.GetNumProjects() != 2 ||
			got.GetAgentUserGroup().GetAgentUid() != 1001 || got.GetCheckpointStorageConfig().AsMap()["bucket"] != "b" {
			t.Errorf("it is shown as %v", got)
		}
		if strings.Contains(got.String(), "hunter2") {
			t.Error("a key is shown")
		}
		in, err := w.Workspace(team.GetId())
		if err != nil || in.Storage.SecretKey.Reveal() != "hunter2" || in.ComputePool != "gpu" || in.Unix.Over(security.AgentUser{User: "u", UID: 7}) != (security.AgentUser{User: "u", UID: 1001}) {
			t.Errorf("tasks get %+v, %v", in, err)
		}
		if q, err := w.ProjectNamed("crew", "Vision 3"); err != nil || q.ID != p.GetId() || q.UserID != 4 {
			t.Errorf("the project is %+v, %v", q, err)
		}
		w.restart()
	}
}

func TestTheOwnerNamesTheMembersOfAWorkspace(t *testing.T) {
	w := newWorld(t)
	team, err := w.Create(t.Context(), ann(), &apiv1.PostWorkspaceRequest{Name: "team", MemberIds: []int32{4, 2, 4}})
	if err != nil {
		t.Fatal(err)
	}
	patch := func(by *apiv1.User, ids ...any) error {
		list, err := structpb.NewList(ids)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Patch(t.Context(), by, team.GetId(), &apiv1.PatchWorkspace{MemberIds: list})
		return err
	}
	many := make([]any, mostMembers+1)
	for i := range many {
		many[i] = 2
	}
	for name, tt := range map[string]struct {
		err  error
		code status.Code
	}{
		"by a member":      {patch(bob(), 4), status.PermissionDenied},
		"no such user":     {patch(ann(), 77), status.InvalidArgument},
		"a name":           {patch(ann(), "bob"), status.InvalidArgument},
		"half a user":      {patch(ann(), 2.5), status.InvalidArgument},
		"too many members": {patch(ann(), many...), status.InvalidArgument},
	} {
		if status.Of(tt.err) != tt.code {
			t.Errorf("%s: got %v, want %s", name, tt.err, tt.code)
		}
	}
	for _, want := range [][]int32{{2, 4}, {4}, {}} {
		w.restart()
		got, err := w.Get(bob(), team.GetId())
		if err != nil || !slices.Equal(got.GetMemberIds(), want) {
			t.Errorf("got members %v (%v), want %v", got.GetMemberIds(), err, want)
		}
		ids := []any{4}
		if len(want) == 1 {
			ids = nil
		}
		if err := patch(ann(), ids...); err != nil {
			t.Fatal(err)
		}
	}
}

func TestShownWorkspaceCanBeSentBack(t *testing.T) {
	w := newWorld(t)
	team, err := w.Create(t.Context(), ann(), &apiv1.PostWorkspaceRequest{
		Name: "team", CheckpointStorageConfig: storage(t, `{"type":"s3","bucket":"b","access_key":"a","secret_key":"s"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	back := func(config *structpb.Struct) Workspace {
		if _, err := w.Patch(t.Context(), ann(), team.GetId(), &apiv1.PatchWorkspace{Name: &team.Name, CheckpointStorageConfig: config}); err != nil {
			t.Fatal(err)
		}
		out, err := w.Workspace(team.GetId())
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if s := back(team.GetCheckpointStorageConfig()).Storage; s.SecretKey == nil {
		t.Error("the key is gone")
	}
	if s := back(storage(t, `{"type":"s3","bucket":"other"}`)).Storage; s.SecretKey != nil {
		t.Error("another bucket has the key of the first")
	}
	if s := back(&structpb.Struct{}).Storage; s != nil {
		t.Errorf("it still has %v", s)
	}
}

func TestIDsAreNotReused(t *testing.T) {
	w := newWorld(t)
	team := w.workspace(ann(), "team")
	p := w.project(ann(), team.GetId(), "p")
	if done, err := w.Delete(t.Context(), ann(), team.GetId()); err != nil || !done {
		t.Fatal(done, err)
	}
	w.restart()
	next := w.workspace(ann(), "team")
	if next.GetId() <= team.GetId() {
		t.Errorf("workspace %d after %d", next.GetId(), team.GetId())
	}
	if q := w.project(ann(), next.GetId(), "p"); q.GetId() <= p.GetId() {
		t.Errorf("project %d after %d", q.GetId(), p.GetId())
	}
}

func TestPinsArePerUser(t *testing.T) {
	w := newWorld(t)
	if err := w.SetPinned(t.Context(), ann(), First, true); err != nil {
		t.Fatal(err)
	}
	w.restart()
	for by, want := range map[*apiv1.User]bool{ann(): true, bob(): false} {
		if got, err := w.Get(by, First); err != nil || got.GetPinned() != want || (got.GetPinnedAt() != nil) != want {
			t.Errorf("%s sees %v, %v", by.GetUsername(), got, err)
		}
	}
	if err := w.SetPinned(t.Context(), ann(), First, false); err != nil {
		t.Fatal(err)
	}
	if got, _ := w.Get(ann(), First); got.GetPinned() {
		t.Error("it is still pinned")
	}
	w.code(w.SetPinned(t.Context(), ann(), 9, true), status.NotFound, "a workspace that is not there")
}

// change calls every function that changes workspace ws or project p.
func (w *world) change(by *apiv1.User, ws, p int32) map[string]error {
	x, name := w.t.Context(), "renamed"
	_, patch := w.Patch(x, by, ws, &apiv1.PatchWorkspace{Name: &name})
	_, edit := w.PatchProject(x, by, p, &apiv1.PatchProject{Name: &name})
	_, notes := w.SetNotes(x, by, p, func(old []*apiv1.Note) []*apiv1.Note { return append(old, &apiv1.Note{Name: "n"}) })
	return map[string]error{
		"patch": patch, "archive": w.SetArchived(x, by, ws, false), "project": edit, "notes": notes,
		"archive project": w.SetProjectArchived(x, by, p, false), "move": w.MoveProject(x, by, p, ws),
	}
}

func TestPermissions(t *testing.T) {
	w := newWorld(t)
	team := w.workspace(ann(), "team")
	p := w.project(bob(), team.GetId(), "p")
	for what, err := range w.change(&apiv1.User{Id: 2, Username: "determined"}, team.GetId(), p.GetId()) {
		w.code(err, status.PermissionDenied, what+" by a stranger")
	}
	for what, err := range w.change(bob(), team.GetId(), p.GetId()) {
		if ofWorkspace := what == "patch" || what == "archive"; ofWorkspace {
			w.code(err, status.PermissionDenied, what+" by who owns the project")
		} else if err != nil {
			t.Errorf("%s by who owns the project: %v", what, err)
		}
	}
	for _, by := range []*apiv1.User{ann(), admin()} {
		for what, err := range w.change(by, team.GetId(), p.GetId()) {
			if err != nil {
				t.Errorf("%s by %s: %v", what, by.GetUsername(), err)
			}
		}
	}
	_, err := w.DeleteProject(t.Context(), &apiv1.User{Id: 2}, p.GetId())
	w.code(err, status.PermissionDenied, "delete a project")
	_, err = w.Delete(t.Context(), bob(), team.GetId())
	w.code(err, status.PermissionDenied, "delete a workspace")
}

func TestFirstWorkspaceIsImmutable(t *testing.T) {
	w := newWorld(t)
	for _, by := range []*apiv1.User{ann(), admin()} {
		for what, err := range w.change(by, First, First) {
			if what == "notes" {
				continue // notes are not an attribute
			}
			w.code(err, status.FailedPrecondition, what+" by "+by.GetUsername())
		}
		_, err := w.DeleteProject(t.Context(), by, First)
		w.code(err, status.FailedPrecondition, "delete the project by "+by.GetUsername())
	}
	_, err := w.SetNotes(t.Context(), ann(), First, func(old []*apiv1.Note) []*apiv1.Note { return old })
	w.code(err, status.PermissionDenied, "notes by a user")
	_, err = w.Delete(t.Context(), ann(), First)
	w.code(err, status.FailedPrecondition, "delete the workspace")
	_, err = w.CreateProject(t.Context(), admin(), &apiv1.PostProjectRequest{Name: "p", WorkspaceId: First})
	w.code(err, status.FailedPrecondition, "make a project in it")
	team := w.workspace(ann(), "team")
	p := w.project(ann(), team.GetId(), "p")
	w.code(w.MoveProject(t.Context(), ann(), p.GetId(), First), status.FailedPrecondition, "move a project into it")
}

func TestArchivedWorkspaceArchivesContent(t *testing.T) {
	w := newWorld(t)
	team, other := w.workspace(ann(), "team"), w.workspace(ann(), "other")
	p := w.project(ann(), team.GetId(), "p")
	if err := w.SetArchived(t.Context(), ann(), team.GetId(), true); err != nil {
		t.Fatal(err)
	}
	if got, err := w.ShowProject(p.GetId()); err != nil || !got.GetArchived() {
		t.Errorf("the project is %v, %v", got, err)
	}
	x, name := t.Context(), "x"
	_, err := w.Patch(x, ann(), team.GetId(), &apiv1.PatchWorkspace{Name: &name})
	w.code(err, status.FailedPrecondition, "rename it")
	_, err = w.CreateProject(x, ann(), &apiv1.PostProjectRequest{Name: "q", WorkspaceId: team.GetId()})
	w.code(err, status.FailedPrecondition, "make a project in it")
	w.code(w.SetProjectArchived(x, ann(), p.GetId(), false), status.FailedPrecondition, "unarchive the project")
	w.code(w.MoveProject(x, ann(), p.GetId(), other.GetId()), status.FailedPrecondition, "move the project out")
	_, err = w.OpenWorkspace(team.GetId())
	w.code(err, status.NotFound, "start a task in it")
	if err := w.SetArchived(x, ann(), team.GetId(), false); err != nil {
		t.Fatal(err)
	}
	if err := w.MoveProject(x, ann(), p.GetId(), other.GetId()); err != nil {
		t.Fatal(err)
	}
	w.restart()
	if got, err := w.ShowProject(p.GetId()); err != nil || got.GetArchived() || got.GetWorkspaceId() != other.GetId() || got.GetWorkspaceName() != "other" {
		t.Errorf("the project is %v, %v", got, err)
	}
}

func TestBadNamesAndSettings(t *testing.T) {
	w := newWorld(t)
	w.spaces.cfg.CheckStorage = func(s expconf.Storage) error {
		if s.Location() == "/forbidden" {
			return errors.New("host_path: /forbidden is not allowed")
		}
		return nil
	}
	team := w.workspace(ann(), "team")
	p := w.project(ann(), team.GetId(), "p")
	other := w.project(ann(), team.GetId(), "other")
	x := t.Context()
	make := func(r *apiv1.PostWorkspaceRequest) error { _, err := w.Create(x, ann(), r); return err }
	patch := func(q *apiv1.PatchProject) error { _, err := w.PatchProject(x, ann(), other.GetId(), q); return err }
	text := func(s string) *string { return &s }
	minus := int32(-1)
	for name, tt := range map[string]struct {
		err  error
		want status.Code
	}{
		"no name": {make(&apiv1.PostWorkspaceRequest{}), status.InvalidArgument},
		"a project without name": {func() error {
			_, err := w.CreateProject(x, ann(), &apiv1.PostProjectRequest{WorkspaceId: team.GetId()})
			return err
		}(), status.InvalidArgument},
		"dots":                             {make(&apiv1.PostWorkspaceRequest{Name: ".."}), status.InvalidArgument},
		"blanks":                           {make(&apiv1.PostWorkspaceRequest{Name: " a"}), status.InvalidArgument},
		"a long name":                      {make(&apiv1.PostWorkspaceRequest{Name: strings.Repeat("x", 81)}), status.InvalidArgument},
		"the same name":                    {make(&apiv1.PostWorkspaceRequest{Name: "Team"}), status.AlreadyExists},
		"the first one's name":             {make(&apiv1.PostWorkspaceRequest{Name: "uncategorized"}), status.AlreadyExists},
		"an unknown pool":                  {make(&apiv1.PostWorkspaceRequest{Name: "x", DefaultAuxPool: "gpo"}), status.InvalidArgument},
		"a storage without type":           {make(&apiv1.PostWorkspaceRequest{Name: "x", CheckpointStorageConfig: storage(t, `{"bucket":"b"}`)}), status.InvalidArgument},
		"a storage that no task may mount": {make(&apiv1.PostWorkspaceRequest{Name: "x", CheckpointStorageConfig: storage(t, `{"type":"shared_fs","host_path":"/forbidden"}`)}), status.InvalidArgument},
		"a Unix account":                   {make(&apiv1.PostWorkspaceRequest{Name: "x", AgentUserGroup: &apiv1.AgentUserGroup{AgentUid: new(int32)}}), status.PermissionDenied},
		"a quota":                          {make(&apiv1.PostWorkspaceRequest{Name: "x", ClusterQuotaPairs: map[string]*structpb.Value{"": structpb.NewNumberValue(1)}}), status.Unimplemented},
		"the same project":                 {patch(&apiv1.PatchProject{Name: text("P")}), status.AlreadyExists},
		"the same key":                     {patch(&apiv1.PatchProject{Key: text(strings.ToLower(p.GetKey()))}), status.AlreadyExists},
		"a long key":                       {patch(&apiv1.PatchProject{Key: text("ABCDEF")}), status.InvalidArgument},
		"a key with a dash":                {patch(&apiv1.PatchProject{Key: text("A-B")}), status.InvalidArgument},
		"a long description":               {patch(&apiv1.PatchProject{Description: text(strings.Repeat("x", 5000))}), status.InvalidArgument},
		"a project in no place": {func() error {
			_, err := w.CreateProject(x, ann(), &apiv1.PostProjectRequest{Name: "q", WorkspaceId: 99})
			return err
		}(), status.NotFound},
		"too many notes": {func() error {
			_, err := w.SetNotes(x, ann(), p.GetId(), func([]*apiv1.Note) []*apiv1.Note { return notesOf(101) })
			return err
		}(), status.InvalidArgument},
		"a negative user": {func() error {
			_, err := w.Patch(x, admin(), team.GetId(), &apiv1.PatchWorkspace{AgentUserGroup: &apiv1.AgentUserGroup{AgentUid: &minus}})
			return err
		}(), status.InvalidArgument},
		"a project that is not":   {w.MoveProject(x, ann(), 99, team.GetId()), status.NotFound},
		"a workspace that is not": {w.SetArchived(x, ann(), 99, true), status.NotFound},
	} {
		w.code(tt.err, tt.want, name)
	}
	if n := len(w.List(ann())); n != 2 {
		t.Errorf("there are %d workspaces", n)
	}
}

func notesOf(n int) (out []*apiv1.Note) {
	for range n {
		out = append(out, &apiv1.Note{Name: "n"})
	}
	return out
}
