package auth

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/token"
)

// platform attests every proof of the form "<audience> <id> <nonce>".
type platform struct {
	broken bool
}

func (p *platform) Attest(_ context.Context, audience string, proof cloud.Proof) (cloud.Attested, error) {
	if p.broken {
		return cloud.Attested{}, &cloud.Error{Kind: cloud.Unavailable, Op: "test:attest"}
	}
	id, found := strings.CutPrefix(string(proof.Data), audience+" ")
	if strings.HasPrefix(id, "unlisted ") {
		return cloud.Attested{}, &cloud.Error{Kind: cloud.NotFound, Op: "test:attest"}
	}
	if !found {
		return cloud.Attested{}, &cloud.Error{Kind: cloud.Denied, Op: "test:attest", Err: errors.New("it is for another cluster")}
	}
	id, once, _ := strings.Cut(id, " ")
	// White space makes different spellings of the same proof.
	return cloud.Attested{Instance: cloud.InstanceID(id), Once: strings.TrimSpace(once)}, nil
}

// ledger maps machines to pools.
type ledger map[cloud.InstanceID]string

func (l ledger) Launched(id cloud.InstanceID) (string, bool) { pool, ok := l[id]; return pool, ok }

func (ledger) Joined(cloud.InstanceID) {}

// proof returns a different proof for each nonce.
func (w *world) proof(id, nonce string) cloud.Proof {
	return cloud.Proof{Kind: "test", Data: []byte(w.store.Meta().ClusterID + " " + id + " " + nonce)}
}

func (w *world) machine(t *testing.T, agent string, proof cloud.Proof, l Launches) (admitted, error) {
	t.Helper()
	adm, err := w.AdmitMachine(t.Context(), agent, proof, l)
	return accepted(t.Context(), adm, err)
}

func (w *world) known(t *testing.T, agent string, credential token.Text, l Launches) (admitted, error) {
	t.Helper()
	adm, err := w.AdmitKnownMachine(agent, credential, l)
	return accepted(t.Context(), adm, err)
}

func TestRevokedMachineIsRejectedWithAProof(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := ledger{"i-1": "gpu"}
	w.cfg.Attestors = map[string]cloud.Attestor{"test": &platform{}}
	adm, err := w.machine(t, "i-1", w.proof("i-1", "1"), l)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Revoke(t.Context(), "i-1", "ann", l); err != nil {
		t.Fatal(err)
	}
	w.restart(t)
	w.cfg.Attestors = map[string]cloud.Attestor{"test": &platform{}}
	var revoked *RevokedError
	if _, err := w.machine(t, "i-1", w.proof("i-1", "2"), l); !errors.As(err, &revoked) {
		t.Errorf("with a new proof: got %v, want it revoked", err)
	}
	if _, err := w.known(t, "i-1", adm.Credential, l); !errors.As(err, &revoked) {
		t.Errorf("with its credential: got %v, want it revoked", err)
	}
	if got := w.Revoked(); len(got) != 1 || !got[0].GetLaunched() {
		t.Errorf("got %v, want one launched machine", got)
	}
	delete(l, "i-1") // it has ended
	if err := w.ForgetMachines(t.Context(), l); err != nil || len(w.Revoked()) != 0 {
		t.Errorf("got %v, %v; want nothing kept of a machine that is over", err, w.Revoked())
	}
}

func TestMachineJoinsOnceWithItsProof(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := ledger{"i-1": "gpu", "i-2": "cpu"}
	p := &platform{}
	w.cfg.Attestors = map[string]cloud.Attestor{"test": p}
	join := func(agent string, proof cloud.Proof) (admitted, error) { return w.machine(t, agent, proof, l) }
	unwanted := func(name, because string, err error) {
		t.Helper()
		var u *UnwantedError
		if !errors.As(err, &u) || !strings.Contains(err.Error(), because) {
			t.Errorf("%s: got %v, want it unwanted because %s", name, err, because)
		}
	}
	_, err := join("i-3", w.proof("i-3", "1"))
	if !errors.Is(err, ErrNotLaunched) {
		t.Errorf("a machine that was not launched: got %v, want %v", err, ErrNotLaunched)
	}
	if _, err := join("unlisted", w.proof("unlisted", "1")); !errors.Is(err, ErrNotLaunched) {
		t.Errorf("a machine that the platform does not know: got %v, want %v", err, ErrNotLaunched)
	}
	l["i-3"] = "gpu" // it was faster than the response to the call that launched it
	if _, err = join("i-3", w.proof("i-3", "1")); err != nil {
		t.Errorf("the same proof, once the launch is known: got %v, want it let in", err)
	}
	delete(l, "i-3")
	_, err = join("i-1", cloud.Proof{Kind: "test", Data: []byte("other-cluster i-1 1")})
	unwanted("for another cluster", "another cluster", err)
	_, err = join("i-1", cloud.Proof{Kind: "gce", Data: w.proof("i-1", "x").Data})
	unwanted("of another platform", `proofs of kind "gce"`, err)
	_, err = join("i-2", w.proof("i-1", "2"))
	unwanted("as another machine", "its proof is for machine 'i-1'", err)
	p.broken = true
	if _, err = join("i-1", w.proof("i-1", "3")); cloud.KindOf(err) != cloud.Unavailable {
		t.Errorf("the platform is out of reach: got %v, want that", err)
	}
	p.broken = false

	lost, err := join("i-1", w.proof("i-1", "4"))
	if err != nil || lost.Pool != "gpu" {
		t.Fatalf("first: got %+v and %v, want it let in to gpu", lost, err)
	}
	_, err = join("i-1", w.proof("i-1", "4"))
	unwanted("the same proof again", "used before", err)
	_, err = join("i-1", w.proof("i-1", " 4 "))
	unwanted("the same proof, spelled in another way", "used before", err)
	w.restart(t)
	w.cfg.Attestors = map[string]cloud.Attestor{"test": p}
	_, err = join("i-1", w.proof("i-1", "4"))
	unwanted("the same proof after a restart", "used before", err)
	adm, err := join("i-1", w.proof("i-1", "5"))
	if err != nil {
		t.Fatalf("the answer was lost: got %v, want it let in with a new proof", err)
	}
	if _, err = w.known(t, "i-1", adm.Credential, l); err != nil {
		t.Fatalf("its credential: got %v, want it let in", err)
	}
	if _, err = w.known(t, "i-1", lost.Credential, l); status.Of(err) != status.Unauthenticated {
		t.Errorf("the credential that was lost: got %v, want it refused", err)
	}
	w.restart(t)
	w.cfg.Attestors = map[string]cloud.Attestor{"test": p}
	_, err = join("i-1", w.proof("i-1", "6"))
	unwanted("a task of the machine that takes its identity", "joined already", err)
	if _, err = w.known(t, "i-1", adm.Credential, l); err != nil {
		t.Errorf("after a restart: got %v, want it let in", err)
	}
	delete(l, "i-1")
	_, err = w.known(t, "i-1", adm.Credential, l)
	unwanted("after it was removed", "no longer", err)
	if err := w.ForgetMachines(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if _, known := w.findAgent("i-1"); known {
		t.Error("got its credential still known, want it withdrawn")
	}
}

func TestStaticAgentsAndMachinesKeepTheirNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := ledger{"i-1": "gpu", "static": "gpu"}
	w.cfg.Attestors = map[string]cloud.Attestor{"test": &platform{}}
	w.admit(t, Arrival{Agent: "static", JoinToken: w.join(t, "gpu")})
	_, err := w.machine(t, "static", w.proof("static", "1"), l)
	var u *UnwantedError
	if !errors.As(err, &u) {
		t.Errorf("a machine of a static agent's name: got %v, want it unwanted", err)
	}
	if !w.IsMachine("i-1", l) || w.IsMachine("i-2", l) {
		t.Error("before it has joined: got the ledger not believed")
	}
	adm, err := w.machine(t, "i-1", w.proof("i-1", "1"), l)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.letIn(t, Arrival{Agent: "i-1", JoinToken: w.join(t, "gpu")})
	wantCode(t, err, status.PermissionDenied)
	_, err = w.letIn(t, Arrival{Agent: "i-1", Credential: adm.Credential})
	wantCode(t, err, status.PermissionDenied)
	_, err = w.known(t, "i-2", adm.Credential, l)
	wantCode(t, err, status.PermissionDenied)
	// A rotation of keys does not affect the credential.
	if _, err := w.known(t, "i-1", adm.Credential, l); err != nil {
		t.Fatal(err)
	}
	if err := w.RotateKeys(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Minute)
	again, err := w.known(t, "i-1", adm.Credential, l)
	if err != nil || again.Credential == "" {
		t.Fatalf("after a rotation: got %+v and %v, want a new credential", again, err)
	}
	if _, err := w.machine(t, "i-1", w.proof("i-1", "2"), l); !errors.As(err, &u) {
		t.Errorf("a proof after a rotation: got %v, want it unwanted", err)
	}
}
