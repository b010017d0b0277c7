package experiment_test

import (
	"fmt"
	"testing"

	"github.com/det-deploy/det-deploy/test/rest"
)

// launcher works around a bug of torch 1.13, whose launcher cannot parse the member 0 of its own
// enumeration in Python 3.11: the options name a process that does not exist.
const launcher = "python3 -m determined.launch.torch_distributed --redirects 9:0 --tee 9:0 -- python3 train.py"

func TestTwoMachinesTrainOneModelWithTorch(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	l := openLab(t, options{agents: 2})
	id := l.create("torch", "distributed.yaml", "entrypoint="+launcher)
	e := l.await(id, "COMPLETED")
	trial := fmt.Sprint(e.Trials[0].ID)
	for rank := range 2 {
		l.det.Want([]string{"trial", "logs", trial}, fmt.Sprintf("process %d of 2 begins at epoch 0", rank))
	}
	l.wantOnce(e.Trials[0])
}
