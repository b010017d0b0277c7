package task

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"

	"golang.org/x/crypto/ssh"
	"google.golang.org/protobuf/types/known/structpb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// Shell returns a shell and its configuration. Its owner and administrators get the key with which people log
// in, as long as it has not ended. Its error has the code NotFound.
func (v *views) Shell(ctx context.Context, by *apiv1.User, id string) (*apiv1.GetShellResponse, error) {
	e, err := v.findKind(ctx, lifecycle.Shell, id)
	if err != nil {
		return nil, err
	}
	s := e.latestSnapshot()
	out := &apiv1.GetShellResponse{}
	if out.Config, err = v.shownConfig(s); err == nil {
		out.Shell, err = v.showShell(s, by)
	}
	return out, err
}

// ShellKey returns the public key with which people log in to a running shell, and its container. It reports
// false if there is no such shell.
func (v *views) ShellKey(id rm.TaskID) (key ssh.PublicKey, c rm.ContainerID, found bool) {
	e, found := v.reg.findTask(id)
	if !found {
		return nil, "", false
	}
	s := e.latestSnapshot()
	first, err := runningContainer(s, 0)
	if err != nil || s.task.Kind != lifecycle.Shell || len(s.task.SSHSeed) == 0 {
		return nil, "", false
	}
	key, err = ssh.NewPublicKey(ed25519.NewKeyFromSeed(s.task.SSHSeed).Public())
	return key, first, err == nil
}

func (v *views) showShell(s snapshot, to *apiv1.User) (*apiv1.Shell, error) {
	out := &apiv1.Shell{}
	apiv1.FillTask(out, v.showCommand(s))
	group, err := structpb.NewStruct(map[string]any{"user": s.task.Unix.User})
	if err != nil {
		return nil, fmt.Errorf("show shell %s: %w", s.task.ID, err)
	}
	out.AgentUserGroup = group
	if len(s.task.SSHSeed) == 0 || !mayEnter(to, s.task) {
		return out, nil
	}
	key := ed25519.NewKeyFromSeed(s.task.SSHSeed)
	block, err := ssh.MarshalPrivateKey(key, "det-deploy shell")
	if err != nil {
		return nil, fmt.Errorf("show shell %s: %w", s.task.ID, err)
	}
	public, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("show shell %s: %w", s.task.ID, err)
	}
	out.PrivateKey, out.PublicKey = string(pem.EncodeToMemory(block)), string(ssh.MarshalAuthorizedKey(public))
	return out, nil
}

// mayEnter reports whether a user may log in to a shell.
func mayEnter(u *apiv1.User, t lifecycle.Task) bool { return checkAllowed(u, t, "enter") == nil }

// newSSHSeed returns the seed of a new key.
func newSSHSeed() []byte {
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed) // it never fails
	return seed
}
