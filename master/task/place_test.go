package task_test

import (
	"context"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/master/workspace"
)

// teams configures the workspaces of a test.
func teams(list ...workspace.Workspace) func(*task.Config) {
	return func(c *task.Config) {
		c.OpenWorkspace = func(id int32) (workspace.Workspace, error) {
			for _, w := range list {
				if w.ID == id {
					return w, nil
				}
			}
			return workspace.Workspace{}, status.Missing("workspace", "?")
		}
		c.WorkspaceName = func(id int32) string {
			w, _ := c.OpenWorkspace(id)
			return w.Name
		}
	}
}

func TestWorkspaceSetsPoolAndUser(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	uid, group := int32(1234), "team"
	m.edit = teams(workspace.Workspace{ID: 1, Name: "first"}, workspace.Workspace{
		ID: 5, Name: "team", ComputePool: "aux", AuxPool: "gpu", Unix: workspace.Account{UID: &uid, Group: &group}, Members: []int32{ann().GetId()},
	})
	m.restart()
	for name, tt := range map[string]struct {
		config    string
		workspace int32
		pool, in  string
	}{
		"no workspace":          {`{"entrypoint":["x"]}`, 0, "gpu", "first"},
		"the default pool":      {`{"entrypoint":["x"]}`, 5, "aux", "team"},
		"the auxiliary pool":    {`{"entrypoint":["x"],"resources":{"slots":0}}`, 5, "gpu", "team"},
		"a pool that was named": {`{"entrypoint":["x"],"resources":{"resource_pool":"gpu"}}`, 5, "gpu", "team"},
	} {
		req := command(t, tt.config)
		req.WorkspaceId = tt.workspace
		r, err := m.tasks.Launch(t.Context(), ann(), req, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		id := first(r.GetCommand().GetId())
		got := m.machine.submitted[id]
		if got.Pool != tt.pool || got.Workspace != tt.in || r.GetCommand().GetWorkspaceId() != max(tt.workspace, 1) {
			t.Errorf("%s: pool %s in %s, want %s in %s", name, got.Pool, got.Workspace, tt.pool, tt.in)
		}
		u := m.assign(id, 1)[0].GetUser()
		if tt.workspace == 5 && (u.GetUid() != 1234 || u.GetGroup() != "team" || u.GetName() != "root") {
			t.Errorf("%s: it runs as %v", name, u)
		}
	}
}

func TestWorkspaceErrors(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	uid := int32(1234)
	m.edit = teams(workspace.Workspace{ID: 1, Name: "team", ComputePool: "gone"}, workspace.Workspace{
		ID: 5, Name: "others", UserID: ann().GetId() + 1, Unix: workspace.Account{UID: &uid},
	})
	m.restart()
	for name, tt := range map[string]struct {
		workspace int32
		code      status.Code
		want      string
	}{
		"it cannot exist":              {-1, status.NotFound, "not found"},
		"it does not exist":            {7, status.NotFound, "not found"},
		"it gives others an account":   {5, status.PermissionDenied, "workspace 'others' has a Unix account, so that only its owner, members and administrators may use it"},
		"its pool does not exist more": {1, status.InvalidArgument, `default pool of workspace 'team': there is no resource pool "gone"`},
	} {
		req := command(t, `{"entrypoint":["x"]}`)
		req.WorkspaceId = tt.workspace
		_, err := m.tasks.Launch(t.Context(), ann(), req, nil)
		if status.Of(err) != tt.code || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConfigurationOverridesTemplate(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	m.edit = func(c *task.Config) {
		c.Template = func(_ context.Context, name string) ([]byte, error) {
			if name != "base" {
				return nil, status.Missing("template", name)
			}
			return []byte(`{"description": "of the template", "max_restarts": 3, "resources": {"slots": 0, "priority": 7},
				"environment": {"environment_variables": ["SHOULDBE=SET"]}}`), nil
		}
	}
	m.restart()
	req := command(t, `{"entrypoint":["x"],"resources":{"priority":8}}`)
	req.TemplateName = "base"
	r, err := m.tasks.Launch(t.Context(), ann(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := m.machine.submitted[first(r.GetCommand().GetId())]
	if r.GetCommand().GetDescription() != "of the template" || got.Pool != "aux" || got.Priority != 8 {
		t.Errorf("got %+v of %v", got, r.GetCommand())
	}
	if c := r.GetConfig().String(); !strings.Contains(c, "SHOULDBE=SET") {
		t.Errorf("the configuration has no variable of the template: %s", c)
	}
	if !hasWarning(m, got.Allocation, "max_restarts") {
		t.Error("got no warning that max_restarts has no effect")
	}
}

// hasWarning reports whether the task's first lines contain a text.
func hasWarning(m *master, id rm.AllocationID, text string) bool {
	for _, line := range m.lines(strings.TrimSuffix(string(id), ".1")) {
		if strings.Contains(line, text) {
			return true
		}
	}
	return false
}
