package apiv1_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func TestFillTask(t *testing.T) {
	t.Parallel()
	from := &apiv1.Command{
		Id: "a", Description: "d", State: apiv1.Task_STATE_RUNNING, StartTime: timestamppb.New(time.Unix(1, 0)),
		Container: &apiv1.Container{Id: "c"}, DisplayName: "Ann", UserId: 7, Username: "ann", ResourcePool: "p", ExitStatus: "x",
		JobId: "j", WorkspaceId: 3, Reason: proto.String("why"), Slots: proto.Int32(2),
	}
	want := &apiv1.Shell{
		Id: "a", Description: "d", State: apiv1.Task_STATE_RUNNING, StartTime: timestamppb.New(time.Unix(1, 0)),
		Container: &apiv1.Container{Id: "c"}, DisplayName: "Ann", UserId: 7, Username: "ann", ResourcePool: "p", ExitStatus: "x",
		JobId: "j", WorkspaceId: 3, Reason: proto.String("why"),
	}
	got := &apiv1.Shell{}
	if apiv1.FillTask(got, from); !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
