package aws_test

import (
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
