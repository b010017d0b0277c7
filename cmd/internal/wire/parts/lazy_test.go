package parts

import (
	"context"
	"errors"
	"testing"
)

func TestLazyRetriesOpen(t *testing.T) {
	t.Parallel()
	opened := 0
	l := lazy[int]{open: func(context.Context) (int, error) {
		if opened++; opened == 1 {
			return 0, errors.New("out of order")
		}
		return opened, nil
	}}
	if _, err := l.get(t.Context()); err == nil {
		t.Fatal("got no error of a cloud that is out of order")
	}
	for range 2 {
		if got, err := l.get(t.Context()); err != nil || got != 2 {
			t.Errorf("got %d, %v, want the result of the second attempt, opened once", got, err)
		}
	}
}
