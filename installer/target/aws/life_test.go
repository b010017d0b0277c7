package aws_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/target/aws/control"
	recordtest "github.com/det-deploy/det-deploy/test/contract/record"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// bubble runs a test in a synctest bubble.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

func TestControlBucketContract(t *testing.T) {
	t.Parallel()
	recordtest.Suite(t, func(*testing.T) record.Store {
		return control.Open(awstest.New(awstest.Options{}).Clients(nil), "lab", awstest.Account)
	})
}

// At an address that was used before, the master of another cluster may answer. It gets no password.
func TestTheMasterOfAnotherClusterIsNotTaken(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}))
		s.Answers = "lab-2"
		err := s.Up(t.Context())
		if err == nil || !strings.Contains(err.Error(), `"lab-2"`) || s.Tried != 0 {
			t.Errorf("got %v and %d tasks, want that it is the master of lab-2", err, s.Tried)
		}
	})
}
