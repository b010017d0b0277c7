package task

import (
	"errors"
	"testing"

	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

func TestOnlyDivisibleTasksWaitForMoreMachines(t *testing.T) {
	t.Parallel()
	tooLarge, wrong := &rm.Unfulfillable{Pool: "gpu", Slots: 9}, errors.New("no such pool")
	for _, c := range []struct {
		err          error
		final        bool
		refused, big bool
	}{
		{nil, false, false, false},
		{tooLarge, true, true, false},
		{tooLarge, false, false, true},
		{wrong, false, true, false},
	} {
		var task lifecycle.Task
		if err := judgeRefusal(c.err, c.final, &task); (err != nil) != c.refused || task.Exceeds != c.big {
			t.Errorf("%v, final %v: got %v and exceeds %v", c.err, c.final, err, task.Exceeds)
		}
	}
}
