package experiment

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/quota"
)

func TestModelDefinitionsCountAsStoredUntilTheirExperimentsAreDeleted(t *testing.T) {
	t.Parallel()
	const limit = 60_000 // of which logs take some hundreds
	w := newWorld(t)
	w.limit = limit
	w.restart()
	order := Order{By: ann(), Config: single, Files: []*apiv1.File{{Path: "model.py", Type: '0', Content: random(10_000)}}}
	one := w.createOrder(order)
	each := w.quota.Stored(7)[quota.Definitions]
	if each < 10_000 || each > 11_000 {
		t.Fatalf("the files of one experiment: got %d bytes", each)
	}
	fork := order
	fork.Parent, fork.Files = one.ID, nil
	for range limit/each - 1 {
		w.createOrder(fork)
	}
	refused := func(why string, o Order) {
		t.Helper()
		_, err := w.x.Create(t.Context(), o)
		if status.Of(err) != status.ResourceExhausted || !strings.Contains(err.Error(), "(model definitions ") {
			t.Errorf("%s: got %v", why, err)
		}
	}
	refused("with files", order)
	refused("with the files of another", fork)
	w.restart()
	refused("after a restart", order)
	if got := w.quota.Stored(7)[quota.Definitions]; got != limit/each*each {
		t.Errorf("after a restart: got %d bytes, want those of %d experiments", got, limit/each)
	}
	w.mustAct(one.ID, "kill")
	w.settle(one.ID)
	w.mustAct(one.ID, "delete")
	w.deleteFiles()
	if got := w.quota.Stored(7)[quota.Definitions]; got != (limit/each-1)*each {
		t.Errorf("after a deletion: got %d bytes, want those of %d experiments", got, limit/each-1)
	}
	order.Parent = 0
	w.createOrder(order)
}

// random returns bytes that cannot be compressed.
func random(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(b) //nolint:errcheck // it never fails
	return b
}
