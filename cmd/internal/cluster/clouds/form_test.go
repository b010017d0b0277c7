package clouds

import (
	"context"
	"testing"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// A user who goes back to an earlier question, and forth with the same answer, causes no call.
func TestQuestionIsKeptForTheSameAnswers(t *testing.T) {
	t.Parallel()
	calls := 0
	ask := Remembered(func(context.Context, term.Answers) (*term.Field, error) {
		calls++
		return &term.Field{}, nil
	})
	for _, region := range []string{"us-west-2", "us-west-2", "us-east-1"} {
		if _, err := ask(t.Context(), term.Answers{{Key: PageRegion, Value: region}}); err != nil {
			t.Fatal(err)
		}
	}
	if calls != 2 {
		t.Errorf("got %d calls, want one a region", calls)
	}
}
