package wire

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/google/go-cmp/cmp"
)

// What CloudWatch lists again, or late, is shown once.
func TestALineOfALogIsShownOnce(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	event := func(id, stream string, after time.Duration) types.FilteredLogEvent {
		return types.FilteredLogEvent{
			EventId: aws.String(id), LogStreamName: aws.String(stream),
			Timestamp: aws.Int64(noon.Add(after).UnixMilli()), Message: aws.String("line " + id + "\n"),
		}
	}
	f := &following{query: MachineLogQuery{Unit: "det-deploy-master"}, seen: map[string]time.Time{}}
	var got []MachineLog
	for _, e := range []types.FilteredLogEvent{
		event("1", "i-1/det-deploy-master", 0),
		event("2", "i-1/det-deploy-host", time.Second), // another unit's
		event("1", "i-1/det-deploy-master", 0),         // listed again
		event("4", "i-1/det-deploy-master", 3*time.Second),
		event("3", "i-1/det-deploy-master", 2*time.Second), // late
	} {
		f.showLines(e, func(l MachineLog) { got = append(got, l) })
	}
	line := func(id string, after time.Duration) MachineLog {
		return MachineLog{Time: noon.Add(after), Instance: "i-1", Unit: "det-deploy-master", Message: "line " + id}
	}
	want := []MachineLog{line("1", 0), line("4", 3*time.Second), line("3", 2*time.Second)}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}

func TestRegionOfSettings(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		settings map[string]string
		want     string
	}{
		{"nothing", nil, ""},
		{"a flag", map[string]string{"region": "eu-west-1", "cluster.yaml": "region: us-west-2\n"}, "eu-west-1"},
		{"a file", map[string]string{"cluster.yaml": "region: us-west-2\n"}, "us-west-2"},
		{"a file without", map[string]string{"cluster.yaml": "key_pair: me\n"}, ""},
	} {
		if got, err := regionIn(tc.settings); err != nil || got != tc.want {
			t.Errorf("%s: got %q and %v, want %q", tc.name, got, err, tc.want)
		}
	}
}
