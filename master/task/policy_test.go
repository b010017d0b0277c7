package task_test

import (
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/policy"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
)

func policed(t *testing.T, p policy.Policy, d container.Defaults) *master {
	t.Helper()
	m := newMaster(t)
	m.stop()
	m.edit = func(c *task.Config) {
		c.Policy = func(string) policy.Policy { return p }
		c.Defaults = func(string) container.Defaults { return d }
	}
	m.start()
	return m
}

func TestPolicyViolationNamesTheField(t *testing.T) {
	t.Parallel()
	m := policed(t, policy.Policy{Images: []string{"registry.example.com"}, MaxShm: 1 << 20}, container.Default())
	const rest = `, "entrypoint": ["true"]`
	for field, text := range map[string]string{
		"bind_mounts[1].host_path":          `"bind_mounts": [{"host_path": "/a", "container_path": "/a"}, {"host_path": "/opt/b", "container_path": "/b"}]`,
		"resources.devices[0].host_path":    `"resources": {"devices": ["/dev/vda:/dev/vda"]}`,
		"resources.shm_size":                `"resources": {"shm_size": "2m"}`,
		"environment.add_capabilities[0]":   `"environment": {"add_capabilities": ["SYS_ADMIN"]}`,
		"environment.image: the image evil": `"environment": {"image": "evil"}`,
		"environment.image: the image dock": `"work_dir": "/w"`,
		"user: the task would run as root":  `"work_dir": "/w"`,
	} {
		_, err := m.tasks.Launch(t.Context(), ann(), command(t, "{"+text+rest+"}"), nil)
		if err == nil || !strings.Contains(err.Error(), field) || !strings.Contains(err.Error(), "an administrator sets task_policy.") {
			t.Errorf("%s: got %v, want it and what allows it", field, err)
		}
		if status.Of(err) != status.PermissionDenied {
			t.Errorf("%s: got code %v, want PermissionDenied", field, status.Of(err))
		}
		if _, err := m.tasks.Launch(t.Context(), root(), command(t, "{"+text+rest+"}"), nil); err != nil {
			t.Errorf("%s: an administrator is refused: %v", field, err)
		}
	}
	_, err := m.tasks.Launch(t.Context(), root(), command(t, `{"bind_mounts": [{"host_path": "/var/../run/docker.sock", "container_path": "/s"}]`+rest+"}"), nil)
	if err == nil || !strings.Contains(err.Error(), "is not allowed for any task") {
		t.Errorf("got %v, want an engine's socket refused to an administrator", err)
	}
}

func TestAnOrderCarriesThePolicyInForce(t *testing.T) {
	t.Parallel()
	d := container.Default()
	m := policed(t, policy.Policy{Root: true, MaxShm: 1 << 20}, d)
	r := m.launch(`{"entrypoint": ["true"]}`)
	specs := m.assign(first(r.GetCommand().GetId()), 1)
	if got := specs[0].GetPolicy(); got == nil || !got.GetRoot() || got.GetMaxShmSize() != 1<<20 {
		t.Errorf("got policy %v, want the pool's", got)
	}
	if got := specs[0].GetShmSize(); got != 1<<20 {
		t.Errorf("got %d bytes of shared memory by default, want those that are allowed", got)
	}
	if got := m.machine.submitted[first(r.GetCommand().GetId())].Policy; got.GetMaxShmSize() != 1<<20 {
		t.Errorf("got policy %v in the request, want the pool's", got)
	}
	admin, err := m.tasks.Launch(t.Context(), root(), command(t, `{"entrypoint": ["true"]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	specs = m.assign(first(admin.GetCommand().GetId()), 1)
	if specs[0].GetPolicy() != nil || specs[0].GetShmSize() != int64(d.ShmSize) {
		t.Errorf("got policy %v and %d bytes, want an administrator's free of it", specs[0].GetPolicy(), specs[0].GetShmSize())
	}
}

// A user reaches a priority by submitting, by changing the job, and by moving it to another pool or next
// to another job.
func TestPriorityIsLimited(t *testing.T) {
	t.Parallel()
	m := policed(t, policy.Policy{Root: true, MinPriority: 40}, container.Default())
	for _, by := range []*apiv1.User{ann(), root()} {
		may := by.GetAdmin()
		check := func(what string, err error) {
			t.Helper()
			if may && err != nil || !may && status.Of(err) != status.PermissionDenied {
				t.Errorf("%s, %s: got %v", by.GetUsername(), what, err)
			}
		}
		_, err := m.tasks.Launch(t.Context(), by, command(t, `{"entrypoint": ["true"], "resources": {"priority": 39}}`), nil)
		check("a submission", err)
		made, err := m.tasks.Launch(t.Context(), by, command(t, `{"entrypoint": ["true"], "resources": {"priority": 40}}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		id, urgent, same := rm.JobID(made.GetCommand().GetId()), 1, 40
		check("a change", m.tasks.ChangeJob(t.Context(), by, id, rm.Change{Priority: &urgent}))
		if err := m.tasks.ChangeJob(t.Context(), by, id, rm.Change{Priority: &same}); err != nil {
			t.Errorf("%s, an allowed change: %v", by.GetUsername(), err)
		}
	}
}

func TestChangeCarriesTheLimitOfPriorities(t *testing.T) {
	t.Parallel()
	m := policed(t, policy.Policy{Root: true, MinPriority: 40}, container.Default())
	id := rm.JobID(m.launch(`{"entrypoint": ["true"]}`).GetCommand().GetId())
	other := rm.JobID("other")
	m.machine.unchangeable = &rm.PriorityError{Priority: 1, Min: 40}
	err := m.tasks.ChangeJob(t.Context(), ann(), id, rm.Change{AheadOf: &other})
	if status.Of(err) != status.PermissionDenied || m.machine.changed.MinPriority != 40 {
		t.Errorf("got %v and %+v, want PermissionDenied and a limit of 40", err, m.machine.changed)
	}
}
