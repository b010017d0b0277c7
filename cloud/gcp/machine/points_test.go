package machine_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/host/metrics"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

func TestPoints(t *testing.T) {
	t.Parallel()
	l := newLab(t, gcptest.Options{})
	sink := l.open(t).Points()
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	must(t, sink.Send(t.Context(), []metrics.Point{
		{Metric: metrics.CPU, Percent: 0},
		{Metric: metrics.Disk, Of: map[string]string{"Path": "/"}, Percent: 4},
		{Metric: metrics.GPUBusy, Of: map[string]string{"GPU": "1"}, Percent: 99},
	}, at))
	got := map[string]float64{}
	for _, s := range l.world.Points(gcptest.Project) {
		key := s.Metric.Type + " " + s.MetricKind + " " + s.Resource.Type + " " + s.Points[0].Interval.EndTime
		for name, value := range s.Metric.Labels {
			key += " " + name + "=" + value
		}
		if s.Resource.Labels["zone"] != zone || s.Resource.Labels["instance_id"] == "" {
			t.Errorf("got %v, want this machine", s.Resource.Labels)
		}
		got[key] = *s.Points[0].Value.DoubleValue
	}
	const rest = " GAUGE gce_instance 2030-01-02T03:04:05Z"
	want := map[string]float64{
		"custom.googleapis.com/Determined/CPUUtilization" + rest:              0,
		"custom.googleapis.com/Determined/DiskUtilization" + rest + " path=/": 4,
		"custom.googleapis.com/Determined/GPUUtilization" + rest + " gpu=1":   99,
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}

// A point that is throttled or otherwise rejected is lost; later ones are written.
func TestRejectedPointIsLost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := newLab(t, gcptest.Options{})
		sink := l.open(t).Points()
		at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
		send := func(after time.Duration) error {
			return sink.Send(t.Context(), []metrics.Point{{Metric: metrics.CPU, Percent: 3}}, at.Add(after))
		}
		must(t, send(0))
		if err := send(time.Second); err == nil {
			t.Error("got no refusal of a point that comes too soon")
		}
		l.world.FailOp("monitoring.projects.timeSeries.create", faults.Throttle, faults.Break, faults.LoseReply)
		for i := range 3 {
			if err := send(time.Duration(i+1) * time.Minute); err == nil {
				t.Error("got no error of a call that failed")
			}
		}
		must(t, send(4*time.Minute))
		if got := len(l.world.Points(gcptest.Project)); got != 3 { // the response to one of them was lost
			t.Errorf("got %d points, want 3", got)
		}
	})
}

func TestMorePointsThanOneRequestTakes(t *testing.T) {
	t.Parallel()
	l := newLab(t, gcptest.Options{})
	var points []metrics.Point
	for i := range 450 {
		points = append(points, metrics.Point{Metric: metrics.Disk, Of: map[string]string{"Path": "/" + cursorOf(i)}, Percent: 1})
	}
	must(t, l.open(t).Points().Send(t.Context(), points, time.Now()))
	if got := len(l.world.Points(gcptest.Project)); got != len(points) {
		t.Errorf("got %d points, want %d", got, len(points))
	}
}
