package task_test

import (
	"bytes"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

func everything(total int) (from, to int) { return 0, total }

// launchKind starts a task of a kind, and returns its ID.
func (m *master) launchKind(k lifecycle.Kind, text string) string {
	m.t.Helper()
	out, err := m.tasks.LaunchKind(m.t.Context(), k, ann(), &apiv1.LaunchCommandRequest{Config: command(m.t, text).GetConfig()}, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	return out.GetCommand().GetId()
}

func TestShells(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	plain := m.launch(`{"entrypoint":["true"]}`).GetCommand().GetId()
	id := m.launchKind(lifecycle.Shell, `{"description":"x"}`)
	made, err := m.tasks.Shell(t.Context(), ann(), id)
	if err != nil {
		t.Fatal(err)
	}
	specs := m.assign(first(id), 1)
	if got := specs[0].GetEntrypoint(); len(got) < 3 || got[0] != "/bin/sh" {
		t.Errorf("got program %q, want one that waits", got)
	}
	if _, _, found := m.tasks.ShellKey(rm.TaskID(id)); found {
		t.Error("a shell that does not run has a key to log in with")
	}
	m.changed(first(id), 0, running, nil)
	if got, err := m.tasks.Task(t.Context(), id); err != nil || !got.GetTask().GetAllocations()[0].GetIsReady() {
		t.Errorf("got %v and %v, want the shell to be ready", got, err)
	} else if list := got.GetResources(); len(list) != 1 || len(list[0].GetAgentDevices()) != 1 {
		t.Errorf("got the resources %v, want the container and its machine", list)
	}

	m.restart()
	key, container, found := m.tasks.ShellKey(rm.TaskID(id))
	signer, err := ssh.ParsePrivateKey([]byte(made.GetShell().GetPrivateKey()))
	if err != nil || !found || container != containerID(first(id), 0) || !bytes.Equal(signer.PublicKey().Marshal(), key.Marshal()) {
		t.Errorf("got container %q, %t and %v, want the key of the response, after a restart too", container, found, err)
	}
	if s, err := m.tasks.Service(t.Context(), id, 0); err != nil || !s.Shell || !s.TCP || !s.Unauthenticated {
		t.Errorf("got %+v and %v, want the login of the shell", s, err)
	}
	for who, want := range map[*apiv1.User]bool{ann(): true, {Id: 1, Admin: true}: true, {Id: 99}: false} {
		if got, err := m.tasks.Shell(t.Context(), who, id); err != nil || (got.GetShell().GetPrivateKey() != "") != want {
			t.Errorf("user %d: got a key %t and %v, want %t", who.GetId(), !want, err, want)
		}
	}
	shells, err := m.tasks.Commands(t.Context(), task.CommandQuery{Kind: lifecycle.Shell, Cut: everything})
	if err != nil || len(shells) != 1 || shells[0].GetId() != id {
		t.Errorf("got %v and %v, want the shell alone", shells, err)
	}
	if list := m.commands(); len(list) != 1 || list[0].GetId() != plain {
		t.Errorf("got %v, want the command alone", list)
	}
	kinds := map[string]apiv1.TaskType{}
	for _, c := range m.history(task.HistoryQuery{Limit: 9}) {
		kinds[c.GetId()] = c.GetTaskType()
	}
	if kinds[id] != apiv1.TaskType_TASK_TYPE_SHELL || kinds[plain] != apiv1.TaskType_TASK_TYPE_COMMAND || len(kinds) != 2 {
		t.Errorf("got the kinds %v in the history", kinds)
	}
	if _, err := m.tasks.Shell(t.Context(), ann(), plain); status.Of(err) != status.NotFound {
		t.Errorf("got %v for a command, want not found", err)
	}
	if _, err := m.tasks.KillKind(t.Context(), &apiv1.User{Id: 99}, lifecycle.Shell, id); status.Of(err) != status.PermissionDenied {
		t.Errorf("got %v for another user, want a refusal", err)
	}
	if _, err := m.tasks.KillKind(t.Context(), ann(), lifecycle.Shell, id); err != nil {
		t.Fatal(err)
	}
	m.must(func() error {
		return m.tasks.Ended(t.Context(), first(id), rm.End{Cause: rm.CauseKilled, Reason: "killed", At: time.Now()})
	})
	if got, err := m.tasks.Shell(t.Context(), ann(), id); err != nil || got.GetShell().GetPrivateKey() != "" {
		t.Errorf("got %v and %v, want an ended shell without its key", got, err)
	}
}
