package machine_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/google/go-cmp/cmp"

	aws "github.com/det-deploy/det-deploy/cloud/aws/machine"
	"github.com/det-deploy/det-deploy/cloud/host/metrics"
)

// recorder is a fake CloudWatch that stores the last request.
type recorder struct {
	sent *cloudwatch.PutMetricDataInput
}

func (r *recorder) PutMetricData(_ context.Context, in *cloudwatch.PutMetricDataInput, _ ...func(*cloudwatch.Options)) (*cloudwatch.PutMetricDataOutput, error) {
	r.sent = in
	return nil, nil //nolint:nilnil // the result is unused
}

func TestPoints(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	err := aws.Points{Instance: "i-1", Metrics: r}.Send(t.Context(), []metrics.Point{
		{Metric: metrics.CPU, Percent: 3}, {Metric: metrics.Disk, Of: map[string]string{"Path": "/"}, Percent: 4},
	}, at)
	if err != nil || *r.sent.Namespace != "Determined" {
		t.Fatalf("got %v, namespace %v", err, r.sent.Namespace)
	}
	got := map[string]float64{}
	for _, d := range r.sent.MetricData {
		key := *d.MetricName + " " + string(d.Unit) + " " + d.Timestamp.Format(time.TimeOnly)
		for _, dim := range d.Dimensions {
			key += " " + *dim.Name + "=" + *dim.Value
		}
		got[key] = *d.Value
	}
	want := map[string]float64{
		"CPUUtilization Percent 03:04:05 InstanceId=i-1":         3,
		"DiskUtilization Percent 03:04:05 InstanceId=i-1 Path=/": 4,
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}
