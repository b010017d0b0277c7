package auth

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/token"
)

// acceptTogether accepts n machines while another change is in progress, so that their grants are
// batched.
func (w *world) acceptTogether(ctx context.Context, t *testing.T, n int, join token.Text) (credentials []token.Text, errs []error) {
	t.Helper()
	admissions := make([]Admission, n)
	for i := range admissions {
		var err error
		if admissions[i], err = w.Admit(Arrival{Agent: fmt.Sprintf("agent-%d", i), JoinToken: join}); err != nil {
			t.Fatal(err)
		}
	}
	credentials, errs = make([]token.Text, n), make([]error, n)
	var all sync.WaitGroup
	w.change.Lock()
	for i, adm := range admissions {
		all.Go(func() { credentials[i], errs[i] = adm.Accept(ctx) })
	}
	for w.waitingGrants() < n {
		time.Sleep(time.Millisecond) //nolint:forbidigo // until all of them wait
	}
	w.change.Unlock()
	all.Wait()
	return credentials, errs
}

func (w *world) waitingGrants() int {
	w.admissions.mu.RLock()
	defer w.admissions.mu.RUnlock()
	return len(w.accepting)
}

func TestBatchedGrantsCountEachOther(t *testing.T) {
	t.Parallel()
	const machines, uses = 20, 5
	w := newWorld(t)
	join, j, err := w.SignJoinToken(NewJoin{Pool: "gpu", Life: time.Hour, Uses: uses})
	if err != nil {
		t.Fatal(err)
	}
	credentials, errs := w.acceptTogether(t.Context(), t, machines, join)
	w.restart(t)
	admitted := 0
	for i, err := range errs {
		if err != nil {
			if status.Of(err) != status.Unauthenticated {
				t.Errorf("agent %d: got %v, want the token used up", i, err)
			}
			continue
		}
		admitted++
		w.admit(t, Arrival{Agent: fmt.Sprintf("agent-%d", i), Credential: credentials[i]})
	}
	if used := w.joins[j.ID].Used; admitted != uses || used != uses {
		t.Errorf("got %d admitted and %d counted, want %d", admitted, used, uses)
	}
}

// A machine that disconnects while its grant is executed does not affect the others.
func TestGrantsOfDisconnectedMachinesAreExecuted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	credentials, errs := w.acceptTogether(gone, t, 3, w.join(t, "gpu"))
	for i, err := range errs {
		if err != nil {
			t.Fatalf("agent %d: %v", i, err)
		}
		w.admit(t, Arrival{Agent: fmt.Sprintf("agent-%d", i), Credential: credentials[i]})
	}
}

func TestGrantsFailIfTheyCannotBeStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	join := w.join(t, "gpu")
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	credentials, errs := w.acceptTogether(t.Context(), t, 3, join)
	for i, err := range errs {
		if _, found := w.findAgent(fmt.Sprintf("agent-%d", i)); err == nil || credentials[i] != "" || found {
			t.Errorf("agent %d: got %v, a credential: %v, known: %v", i, err, credentials[i] != "", found)
		}
	}
}

// BenchmarkJoins measures a thousand machines that join at once.
func BenchmarkJoins(b *testing.B) {
	w := newWorld(b)
	join, _, err := w.SignJoinToken(NewJoin{Pool: "gpu", Life: time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	for n := 0; b.Loop(); n++ {
		var all sync.WaitGroup
		for i := range 1000 {
			all.Go(func() {
				adm, err := w.Admit(Arrival{Agent: fmt.Sprintf("agent-%d-%d", n, i), JoinToken: join})
				if err == nil {
					_, err = adm.Accept(b.Context())
				}
				if err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
	}
}
