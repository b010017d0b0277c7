package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment"
)

func TestAPageOfLargeTrialsEndsEarlyAndTheNextHasTheRest(t *testing.T) {
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
	pages := 0
	for from := int32(0); ; pages++ {
		rec := w.ask(t, http.MethodGet, fmt.Sprintf("%sexperiments/%d/trials?offset=%d", prefix, made.View.ID, from), w.user, "")
		out := &apiv1.GetExperimentTrialsResponse{}
		if err := protojson.Unmarshal(rec.Body.Bytes(), out); err != nil || rec.Code != http.StatusOK {
			t.Fatalf("got %d and %v", rec.Code, err)
		}
		for _, one := range out.GetTrials() {
			if n := len(one.GetHparams().GetFields()["text"].GetStringValue()); n != text {
				t.Fatalf("trial %d has a text of %d bytes, want %d", one.GetId(), n, text)
			}
			got = append(got, one.GetId())
		}
		p := out.GetPagination()
		if p.GetEndIndex() >= p.GetTotal() || p.GetEndIndex() <= from {
			break
		}
		from = p.GetEndIndex()
	}
	if len(got) != trials || pages != 1 {
		t.Errorf("got %d trials and %d pages that ended early, want %d and 1", len(got), pages, trials)
	}
	for i := range got[1:] {
		if got[i+1] != got[i]+1 {
			t.Errorf("got trial %d after %d", got[i+1], got[i])
		}
	}
}
