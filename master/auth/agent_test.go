package auth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/master/token"
)

func (w *world) join(t *testing.T, pool string) token.Text {
	t.Helper()
	text, _, err := w.SignJoinToken(NewJoin{Pool: pool, Life: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// admitted is an admitted machine.
type admitted struct {
	Pool       string
	Credential token.Text
}

func accepted(ctx context.Context, adm Admission, err error) (admitted, error) {
	if err != nil {
		return admitted{}, err
	}
	credential, err := adm.Accept(ctx)
	return admitted{adm.Pool, credential}, err
}

func (w *world) letIn(t *testing.T, in Arrival) (admitted, error) {
	t.Helper()
	adm, err := w.Admit(in)
	return accepted(t.Context(), adm, err)
}

func (w *world) admit(t *testing.T, in Arrival) admitted {
	t.Helper()
	adm, err := w.letIn(t, in)
	if err != nil {
		t.Fatal(err)
	}
	return adm
}

func TestMachinesJoin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	join := w.join(t, "gpu")
	adm := w.admit(t, Arrival{Agent: "a", JoinToken: join})
	if adm.Pool != "gpu" || adm.Credential == "" {
		t.Fatalf("got %+v, want a credential for gpu", adm)
	}
	w.pass(2 * time.Hour)
	w.restart(t)
	if again := w.admit(t, Arrival{Agent: "a", Pool: "gpu", Credential: adm.Credential, JoinToken: join}); again.Credential != "" {
		t.Errorf("got a new credential, want the old one to do")
	}
	cloud := w.admit(t, Arrival{Agent: "c", Instance: "i-1", JoinToken: w.join(t, "gpu")})
	refused := []struct {
		name string
		in   Arrival
		want status.Code
	}{
		{"without proof", Arrival{Agent: "b"}, status.Unauthenticated},
		{"without a name", Arrival{JoinToken: join}, status.InvalidArgument},
		{"with an expired token", Arrival{Agent: "b", JoinToken: join}, status.Unauthenticated},
		{"into another pool", Arrival{Agent: "b", Pool: "cpu", JoinToken: w.join(t, "gpu")}, status.PermissionDenied},
		{"as an agent of another pool", Arrival{Agent: "a", JoinToken: w.join(t, "cpu")}, status.PermissionDenied},
		{"with the credential of another agent", Arrival{Agent: "b", Credential: adm.Credential}, status.PermissionDenied},
		{"with a credential and another pool", Arrival{Agent: "a", Pool: "cpu", Credential: adm.Credential}, status.PermissionDenied},
		{"with the credential of another machine", Arrival{Agent: "c", Instance: "i-2", Credential: cloud.Credential}, status.PermissionDenied},
		{"with a join token as a credential", Arrival{Agent: "a", Credential: join}, status.Unauthenticated},
	}
	for _, tt := range refused {
		t.Run("not "+tt.name, func(t *testing.T) {
			_, err := w.letIn(t, tt.in)
			wantCode(t, err, tt.want)
		})
	}
}

// Rejecting the twin of a connected agent must not affect the agent: its proof is verified, but no
// credential is issued.
func TestAdmitChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	adm := w.admit(t, Arrival{Agent: "a", JoinToken: w.join(t, "gpu")})
	if _, err := w.Admit(Arrival{Agent: "a", JoinToken: w.join(t, "gpu")}); err != nil {
		t.Fatal(err)
	}
	if again := w.admit(t, Arrival{Agent: "a", Credential: adm.Credential}); again.Credential != "" {
		t.Error("got a new credential, want the old one to do")
	}
}

func TestPreviousCredentialIsValidUntilTheNewOneIsUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.admit(t, Arrival{Agent: "a", JoinToken: w.join(t, "gpu")})
	lost := w.admit(t, Arrival{Agent: "a", JoinToken: w.join(t, "gpu")})
	cur := w.admit(t, Arrival{Agent: "a", JoinToken: w.join(t, "gpu")})
	w.restart(t)
	if _, err := w.Admit(Arrival{Agent: "a", Credential: old.Credential}); err != nil {
		t.Errorf("before the new one was shown: got %v, want the former one good", err)
	}
	_, err := w.letIn(t, Arrival{Agent: "a", Credential: lost.Credential})
	wantCode(t, err, status.Unauthenticated) // it was never used and is not the last
	w.admit(t, Arrival{Agent: "a", Credential: cur.Credential})
	_, err = w.letIn(t, Arrival{Agent: "a", Credential: old.Credential})
	wantCode(t, err, status.Unauthenticated)
}

func TestRevokedAgentIsRejectedUntilReadmitted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cur := w.admit(t, Arrival{Agent: "a", JoinToken: w.join(t, "gpu")})
	pending, err := w.Admit(Arrival{Agent: "a", Credential: cur.Credential})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Revoke(t.Context(), "a", "ann", nothingLaunched{}); err != nil {
		t.Fatal(err)
	}
	_, err = pending.Accept(t.Context())
	wantCode(t, err, status.PermissionDenied) // its admission was in progress
	w.restart(t)
	for name, in := range map[string]Arrival{
		"its credential": {Agent: "a", Credential: cur.Credential}, "a join token": {Agent: "a", JoinToken: w.join(t, "gpu")},
		"a token of another pool": {Agent: "a", JoinToken: w.join(t, "cpu")},
	} {
		_, err := w.letIn(t, in)
		var revoked *RevokedError
		if !errors.As(err, &revoked) {
			t.Errorf("with %s: got %v, want it revoked", name, err)
		}
		wantCode(t, err, status.PermissionDenied)
	}
	if got := w.Revoked(); len(got) != 1 || got[0].GetId() != "a" || got[0].GetRevokedBy() != "ann" {
		t.Errorf("got %v revoked, want a by ann", got)
	}
	if err := w.Readmit(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	_, err = w.letIn(t, Arrival{Agent: "a", Credential: cur.Credential})
	wantCode(t, err, status.Unauthenticated)
	w.admit(t, Arrival{Agent: "a", JoinToken: w.join(t, "cpu")}) // it may join another pool
}

func TestJoinTokensAreCountedListedAndRevoked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	once, j, err := w.SignJoinToken(NewJoin{Pool: "gpu", Life: time.Hour, Uses: 1})
	if err != nil {
		t.Fatal(err)
	}
	twice, made, err := w.CreateJoinToken(t.Context(), NewJoin{Pool: "gpu", Life: 2 * time.Hour, Uses: 2, By: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.JoinTokens(); len(got) != 1 || got[0].GetId() != made.GetId() || got[0].GetUses() != 2 || got[0].GetCreatedBy() != "ann" {
		t.Errorf("got %v, want the one that was created", got)
	}
	w.admit(t, Arrival{Agent: "a", JoinToken: once})
	w.admit(t, Arrival{Agent: "a", JoinToken: once}) // the response was lost
	w.restart(t)
	_, err = w.letIn(t, Arrival{Agent: "b", JoinToken: once})
	wantCode(t, err, status.Unauthenticated)
	w.pass(joinAgain)
	_, err = w.letIn(t, Arrival{Agent: "a", JoinToken: once})
	wantCode(t, err, status.Unauthenticated)
	w.admit(t, Arrival{Agent: "c", JoinToken: twice})
	if _, err := w.RevokeJoinToken(t.Context(), made.GetId(), "ann"); err != nil {
		t.Fatal(err)
	}
	w.restart(t)
	_, err = w.letIn(t, Arrival{Agent: "d", JoinToken: twice})
	wantCode(t, err, status.Unauthenticated)
	unused := w.join(t, "gpu")
	if _, err := w.RevokeJoinToken(t.Context(), string(unused), "ann"); err != nil {
		t.Fatal(err)
	}
	_, err = w.letIn(t, Arrival{Agent: "d", JoinToken: unused})
	wantCode(t, err, status.Unauthenticated)
	_, err = w.RevokeJoinToken(t.Context(), "nothing", "ann")
	wantCode(t, err, status.NotFound)
	if got := w.JoinTokens(); len(got) != 3 || got[0].GetId() != j.ID && got[1].GetId() != j.ID {
		t.Errorf("got %v, want all three", got)
	}
	w.pass(3 * time.Hour)
	if err := w.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.restart(t)
	if got := w.JoinTokens(); len(got) != 0 || len(w.joins) != 0 {
		t.Errorf("after they have expired: got %v, want none", got)
	}
}

// If many machines arrive at once with a token for one, one is admitted.
func TestSingleUseTokenAdmitsOneMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	once, _, err := w.SignJoinToken(NewJoin{Pool: "gpu", Life: time.Hour, Uses: 1})
	if err != nil {
		t.Fatal(err)
	}
	var in atomic.Int32
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			adm, err := w.Admit(Arrival{Agent: fmt.Sprintf("a%d", i), JoinToken: once})
			if _, err = accepted(t.Context(), adm, err); err == nil {
				in.Add(1)
			}
		})
	}
	all.Wait()
	if got := in.Load(); got != 1 {
		t.Errorf("got %d let in, want 1", got)
	}
}

// A store of the previous version: a credential without the new fields, and a join token without a
// record.
func TestRecordsOfThePreviousVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text, c, err := w.currentKey().SignCredential(token.Credential{Cluster: w.cluster, Agent: "a", Pool: "gpu"})
	if err != nil {
		t.Fatal(err)
	}
	type lastAgentRecord struct {
		Credential string    `json:"credential"`
		Pool       string    `json:"pool"`
		Key        string    `json:"key"`
		Issued     time.Time `json:"issued"`
	}
	err = w.store.Write(t.Context(), func(tx *store.Tx) error {
		return store.Collection[lastAgentRecord]{Kind: "agent_credential"}.Put(tx, "a", "gpu", w.now(), lastAgentRecord{c.ID, "gpu", w.currentKey()[0].ID, w.now()})
	})
	if err != nil {
		t.Fatal(err)
	}
	join := w.join(t, "gpu")
	w.restart(t)
	w.admit(t, Arrival{Agent: "a", Credential: text})
	w.admit(t, Arrival{Agent: "b", JoinToken: join})
}

func TestRotateKeysWithRunningAgents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.admit(t, Arrival{Agent: "a", JoinToken: w.join(t, "gpu")})
	if err := w.RotateKeys(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.restart(t)
	lost := w.admit(t, Arrival{Agent: "a", Credential: one.Credential})
	if lost.Credential == "" {
		t.Fatal("got no new credential after a rotation")
	}
	two := w.admit(t, Arrival{Agent: "a", Credential: one.Credential}) // the response was lost
	w.admit(t, Arrival{Agent: "a", Credential: two.Credential})
	_, err := w.letIn(t, Arrival{Agent: "a", Credential: one.Credential})
	wantCode(t, err, status.Unauthenticated)
	if err := w.RotateKeys(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.admit(t, Arrival{Agent: "a", Credential: two.Credential})
}

func BenchmarkUserOf(b *testing.B) {
	w := newWorld(b)
	text := w.must(b, "admin", first)
	b.ResetTimer()
	for b.Loop() {
		if _, _, err := w.UserOf(text); err != nil {
			b.Fatal(err)
		}
	}
}

// nothingLaunched is a launcher without machines.
type nothingLaunched struct{}

func (nothingLaunched) Launched(cloud.InstanceID) (string, bool) { return "", false }
func (nothingLaunched) Joined(cloud.InstanceID)                  {}
