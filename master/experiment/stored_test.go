package experiment

import (
	"strconv"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/quota"
)

func TestModelDefinitionsCountAsStoredUntilTheirExperimentsAreDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.limit = 600
	w.restart()
	order := Order{By: ann(), Config: single, Files: []*apiv1.File{{Path: "model.py", Type: '0', Content: []byte("print(1)")}}}
	one := w.createOrder(order)
	each := w.quota.Stored(7)[quota.Definitions]
	if each == 0 || each > 300 {
		t.Fatalf("the files of one experiment: got %d bytes", each)
	}
	fork := order
	fork.Parent, fork.Files = one.ID, nil
	for range 600/each - 1 {
		w.createOrder(fork)
	}
	refused := func(why string, o Order) {
		t.Helper()
		_, err := w.x.Create(t.Context(), o)
		if status.Of(err) != status.ResourceExhausted || !strings.Contains(err.Error(), "model definitions "+strconv.FormatInt(600/each*each, 10)+" bytes") {
			t.Errorf("%s: got %v", why, err)
		}
	}
	refused("with files", order)
	refused("with the files of another", fork)
	w.restart()
	refused("after a restart", order)
	if got := w.quota.Stored(7)[quota.Definitions]; got != 600/each*each {
		t.Errorf("after a restart: got %d bytes, want those of %d experiments", got, 600/each)
	}
	w.mustAct(one.ID, "kill")
	w.settle(one.ID)
	w.mustAct(one.ID, "delete")
	w.deleteFiles()
	if got := w.quota.Stored(7)[quota.Definitions]; got != (600/each-1)*each {
		t.Errorf("after a deletion: got %d bytes, want those of %d experiments", got, 600/each-1)
	}
	order.Parent = 0
	w.createOrder(order)
}
