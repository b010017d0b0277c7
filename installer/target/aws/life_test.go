package aws_test

import (
	"testing"

	"github.com/det-deploy/det-deploy/cloud/aws/awstest"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/record/recordtest"
	"github.com/det-deploy/det-deploy/installer/target/aws"
)

func TestTheControlBucketIsAStore(t *testing.T) {
	t.Parallel()
	recordtest.Suite(t, func(*testing.T) record.Store {
		return aws.ControlStore(awstest.New(awstest.Options{}).Clients(nil), "lab", awstest.Account)
	})
}

func TestALife(t *testing.T) {
	t.Parallel()
	s := newStage(inMemory(awstest.Options{}))
	must(t, s.up(t.Context()))
	s.wantNothingToDo(t)
	s.set("max-agents", "9", "data-volume-size", "200")
	t.Log(s.plan(t))
	must(t, s.up(t.Context()))
	s.wantNothingToDo(t)
	_, err := s.down(t.Context(), true)
	must(t, err)
	s.wantLeft(t)
}
