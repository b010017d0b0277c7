package server

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
)

func TestPageOfLargeTrialsIsShortened(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	owner, err := w.auth.User(2)
	if err != nil {
		t.Fatal(err)
	}
	const trials, text = 24, 800_000 // 19 MB
	made, err := w.x.Create(t.Context(), experiment.Order{By: owner, Config: fmt.Sprintf(`
name: large
entrypoint: python3 train.py
searcher: {name: random, metric: loss, max_trials: %d, max_concurrent_trials: %d}
hyperparameters: {text: %s}
`, trials, trials, strings.Repeat("x", text))})
	if err != nil {
		t.Fatal(err)
	}
	var got []int32
	early := w.readPages(t, fmt.Sprintf("experiments/%d/trials", made.View.ID), &apiv1.GetExperimentTrialsResponse{}, func(m proto.Message) *apiv1.Pagination {
		out, _ := m.(*apiv1.GetExperimentTrialsResponse)
		for _, one := range out.GetTrials() {
			if n := len(one.GetHparams().GetFields()["text"].GetStringValue()); n != text {
				t.Fatalf("trial %d has a text of %d bytes, want %d", one.GetId(), n, text)
			}
			got = append(got, one.GetId())
		}
		return out.GetPagination()
	})
	if len(got) != trials || early != 1 {
		t.Errorf("got %d trials and %d pages that ended early, want %d and 1", len(got), early, trials)
	}
	for i := range got[1:] {
		if got[i+1] != got[i]+1 {
			t.Errorf("got trial %d after %d", got[i+1], got[i])
		}
	}
}

// readPages reads a list in the way that clients do, and counts the short pages before the last.
func (w *whole) readPages(t *testing.T, path string, out proto.Message, read func(proto.Message) *apiv1.Pagination) (early int) {
	t.Helper()
	for from := int32(0); ; early++ {
		rec := w.ask(t, http.MethodGet, fmt.Sprintf("%s%s?offset=%d", prefix, path, from), w.user, "")
		proto.Reset(out)
		if err := protojson.Unmarshal(rec.Body.Bytes(), out); err != nil || rec.Code != http.StatusOK {
			t.Fatalf("got %d and %v", rec.Code, err)
		}
		p := read(out)
		if p.GetEndIndex() >= p.GetTotal() || p.GetEndIndex() <= from {
			return early
		}
		from = p.GetEndIndex()
	}
}

func TestPageOfLargeCheckpointsIsShortened(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	trial, err := strconv.ParseInt(w.ids["trial"], 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	const checkpoints = 48 // of 0.8 MB each
	note := strings.Repeat("x", 800_000)
	if err := w.store.Write(t.Context(), func(tx *store.Tx) error {
		docs := store.Collection[checkpoint.Record]{Kind: "checkpoint"}
		for i := range checkpoints {
			rec := checkpoint.Record{
				UUID: uuid.NewString(), Experiment: w.experiment, Trial: int32(trial), State: checkpoint.Completed, Steps: int32(i),
				Reported: time.Unix(int64(1_700_000_000+i), 0), Metadata: map[string]any{"note": note},
			}
			if err := docs.Put(tx, rec.UUID, record.Key(rec.Trial), rec.Reported, rec); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	early := w.readPages(t, fmt.Sprintf("experiments/%d/checkpoints", w.experiment), &apiv1.GetCheckpointsResponse{}, func(m proto.Message) *apiv1.Pagination {
		out, _ := m.(*apiv1.GetCheckpointsResponse)
		for _, one := range out.GetCheckpoints() {
			seen[one.GetUuid()] = len(one.GetMetadata().GetFields()["note"].GetStringValue()) == len(note)
		}
		return out.GetPagination()
	})
	if len(seen) != checkpoints || early != 1 {
		t.Errorf("got %d checkpoints and %d pages that ended early, want %d and 1", len(seen), early, checkpoints)
	}
	saved := 0
	early = w.readPages(t, fmt.Sprintf("trials/%d/workloads", trial), &apiv1.GetTrialWorkloadsResponse{}, func(m proto.Message) *apiv1.Pagination {
		out, _ := m.(*apiv1.GetTrialWorkloadsResponse)
		for _, one := range out.GetWorkloads() {
			if seen[one.GetCheckpoint().GetUuid()] {
				saved++
			}
		}
		return out.GetPagination()
	})
	if saved != checkpoints || early != 2 {
		t.Errorf("got %d checkpoints of the trial and %d pages that ended early, want %d and 2", saved, early, checkpoints)
	}
}
