package checkpoint_test

import (
	"fmt"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
	"github.com/det-deploy/det-deploy/test/storetest"
)

func TestCheckpointLimit(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	var docs []store.Doc[checkpoint.Record]
	for i := range int32(9_999) {
		r := saved(fmt.Sprint("c", i), 1, i)
		docs = append(docs, store.Doc[checkpoint.Record]{ID: r.UUID, Parent: record.Key(1), At: r.Reported, Value: r})
	}
	err := write(t, s, func(tx *store.Tx) error {
		return store.Collection[checkpoint.Record]{Kind: "checkpoint"}.PutAll(tx, docs)
	})
	if err != nil {
		t.Fatal(err)
	}
	last := saved("last", 1, 10_000)
	put(t, s, last)
	err = write(t, s, func(tx *store.Tx) error { return checkpoint.Put(t.Context(), tx, saved("beyond", 1, 10_001)) })
	wantError(t, err, "trial 1 has 10000 checkpoints")
	if status.Of(err) != status.ResourceExhausted {
		t.Errorf("got code %v", status.Of(err))
	}
	put(t, s, last) // repeated
	put(t, s, saved("other", 2, 1))
}
