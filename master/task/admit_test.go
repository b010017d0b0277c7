package task_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/policy"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
)

func TestJobIsPlacedLikeCommand(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	none := 0
	for name, tt := range map[string]struct {
		pool  string
		slots *int
		want  string
		code  status.Code
	}{
		"the default pool":   {"", nil, "gpu", 0},
		"the auxiliary pool": {"", &none, "aux", 0},
		"a named pool":       {"aux", nil, "aux", 0},
		"a pool of no name":  {"gone", nil, "", status.InvalidArgument},
	} {
		p, err := m.tasks.Place(ann(), 0, tt.pool, tt.slots)
		if p.Pool != tt.want || (err == nil) != (tt.code == 0) || err != nil && status.Of(err) != tt.code {
			t.Errorf("%s: got %+v and %v", name, p, err)
		}
	}
	m.edit = func(c *task.Config) { c.AdministratorsOnly = true }
	m.restart()
	if _, err := m.tasks.Place(ann(), 0, "", nil); status.Of(err) != status.PermissionDenied {
		t.Errorf("got %v for a user who may run nothing", err)
	}
}

func TestAJobThatCanNeverRunIsRefused(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	m.machine.remarks = []string{"pod_spec has no effect"}
	a, err := m.tasks.Admit(ann(), trial("1.a", 1), policy.Asked{})
	if err != nil || a.Exceeds || len(a.Warnings) != 1 {
		t.Errorf("got %+v and %v", a, err)
	}
	asked := policy.Asked{Mounts: []policy.Mount{{Field: "bind_mounts[0].host_path", Path: "/etc"}}}
	if _, err := m.tasks.Admit(ann(), trial("1.a", 1), asked); status.Of(err) != status.PermissionDenied {
		t.Errorf("got %v for a mount that is not allowed", err)
	}
	m.machine.invalid = &rm.Unfulfillable{Pool: "gpu", Slots: 9, Reason: "it has 8"}
	if _, err := m.tasks.Admit(ann(), trial("1.a", 1), policy.Asked{}); status.Of(err) != status.InvalidArgument {
		t.Errorf("got %v for more slots than there can be", err)
	}
	m.machine.invalid = &rm.Unfulfillable{Pool: "gpu", Slots: 9, Reason: "it has no agents", Empty: true}
	if a, err := m.tasks.Admit(ann(), trial("1.a", 1), policy.Asked{}); err != nil || !a.Exceeds || len(a.Warnings) != 2 || !strings.Contains(a.Warnings[0], "has no agents") {
		t.Errorf("got %+v and %v, want it to wait for a first agent, with a warning", a, err)
	}
	m.machine.invalid = &rm.Unfulfillable{Pool: "gpu", Slots: 9, Reason: "it has 8"}
	m.edit = func(c *task.Config) { c.LaunchError = false }
	m.restart()
	if a, err := m.tasks.Admit(ann(), trial("1.a", 1), policy.Asked{}); err != nil || !a.Exceeds {
		t.Errorf("got %+v and %v, want it to wait", a, err)
	}
}

func TestJobWithoutCheckpointClaimIsRejected(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	m.machine.claim = errors.New("Kubernetes has no default StorageClass")
	mount := policy.Mount{Field: "checkpoint_storage.host_path", Path: policy.ClaimDirectory("determined-checkpoints-lab") + "/experiment-1-1f3a90cc", Storage: true}
	_, err := m.tasks.Admit(root(), trial("1.a", 1), policy.Asked{Mounts: []policy.Mount{mount}})
	if status.Of(err) != status.FailedPrecondition || !strings.Contains(err.Error(), "checkpoint_storage.host_path: Kubernetes has no default StorageClass") {
		t.Errorf("got %v, want the reason", err)
	}
	mount.Path = "/srv/checkpoints"
	if _, err := m.tasks.Admit(root(), trial("1.a", 1), policy.Asked{Mounts: []policy.Mount{mount}}); err != nil {
		t.Errorf("a directory: got %v", err)
	}
}
