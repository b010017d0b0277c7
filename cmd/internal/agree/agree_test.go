package agree_test

import (
	"testing"

	"github.com/det-deploy/det-deploy/cmd/internal/agree"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/installer/plan"
)

func TestDownAsksForTheIDWhenDataGoes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, typed string
		deleteData  bool
		want        bool
	}{
		{"yes is enough while data stays", "y\n", false, true},
		{"yes is not enough for data", "y\n", true, false},
		{"the id is", "local\n", true, true},
		{"nothing typed is a no", "\n", false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, _, _ := term.Test(tc.typed, true)
			a := agree.Asker{Streams: s, Output: term.Text}
			got, err := a.Down(t.Context(), "local", plan.Plan{}, tc.deleteData)
			if err != nil || got != tc.want {
				t.Errorf("got %t and %v, want %t", got, err, tc.want)
			}
		})
	}
}
