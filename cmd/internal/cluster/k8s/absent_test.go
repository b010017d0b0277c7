package k8s

import (
	"errors"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
)

func TestBeginningOfIDInNamespace(t *testing.T) {
	t.Parallel()
	absent := &absentError{&cluster.AbsentError{Have: []cluster.Existing{
		{ID: "lab-vision", Place: "namespace det"}, {ID: "lab-speech", Place: "namespace det"}, {ID: "lab-text", Place: "namespace other"},
	}}, "det"}
	for text, want := range map[string]string{"lab-v": "lab-vision", "lab-s": "lab-speech"} {
		if got, err := completeID(text, absent); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
	}
	if _, err := completeID("lab-t", absent); !errors.Is(err, absent) {
		t.Errorf("a cluster of another namespace: got %v, want the error unchanged", err)
	}
	if _, err := completeID("lab-", absent); err == nil || !strings.Contains(err.Error(), "lab-vision in namespace det, lab-speech in namespace det") {
		t.Errorf("got %v, want both clusters of the namespace", err)
	}
	if got, err := completeID("lab-vision", nil); got != "lab-vision" || err != nil {
		t.Errorf("an existing cluster: got %q, %v", got, err)
	}
	denied := errors.New("denied")
	if _, err := completeID("lab-v", denied); !errors.Is(err, denied) {
		t.Errorf("got %v, want the error unchanged", err)
	}
}
