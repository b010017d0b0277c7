package auth

import (
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/token"
)

func (w *world) join(t *testing.T, pool string) token.Text {
	t.Helper()
	text, err := w.JoinToken(pool, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (w *world) admit(t *testing.T, in Arrival) Admission {
	t.Helper()
	adm, err := w.Admit(t.Context(), in)
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
	cloud, err := w.Issue(t.Context(), "c", "gpu", "i-1")
	if err != nil {
		t.Fatal(err)
	}
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
			_, err := w.Admit(t.Context(), tt.in)
			wantCode(t, err, tt.want)
		})
	}
}

func TestCredentialsAreRevoked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.admit(t, Arrival{Agent: "a", JoinToken: w.join(t, "gpu")})
	w.admit(t, Arrival{Agent: "a", JoinToken: w.join(t, "gpu")})
	_, err := w.Admit(t.Context(), Arrival{Agent: "a", Credential: old.Credential})
	wantCode(t, err, status.Unauthenticated) // a later machine took the name
	cur := w.admit(t, Arrival{Agent: "a", JoinToken: w.join(t, "gpu")})
	if err := w.Revoke(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	w.restart(t)
	_, err = w.Admit(t.Context(), Arrival{Agent: "a", Credential: cur.Credential})
	wantCode(t, err, status.Unauthenticated)
	w.admit(t, Arrival{Agent: "a", JoinToken: w.join(t, "cpu")}) // and may join elsewhere
}

func TestKeysRotateUnderRunningAgents(t *testing.T) {
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
	two := w.admit(t, Arrival{Agent: "a", Credential: one.Credential}) // the answer was lost
	w.admit(t, Arrival{Agent: "a", Credential: two.Credential})
	_, err := w.Admit(t.Context(), Arrival{Agent: "a", Credential: one.Credential})
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
