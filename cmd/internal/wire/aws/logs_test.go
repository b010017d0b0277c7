package aws

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

func TestParseStreamName(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	got := machineLog(types.FilteredLogEvent{
		LogStreamName: aws.String("i-1/det-deploy-master"), Timestamp: aws.Int64(noon.UnixMilli()), Message: aws.String("hello\n"),
	})
	if want := (wire.MachineLog{Time: noon, Instance: "i-1", Unit: "det-deploy-master", Message: "hello"}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
