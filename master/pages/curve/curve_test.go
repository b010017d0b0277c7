package curve

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func object(t *testing.T, v map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(v)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMetricsOf(t *testing.T) {
	t.Parallel()
	number := map[string]any{"type": "number"}
	trials := []*apiv1.Trial{
		{SummaryMetrics: object(t, map[string]any{
			"avg_metrics": map[string]any{"loss": number, "note": map[string]any{"type": "string"}}, "validation_metrics": map[string]any{"loss": number},
			"cpu": map[string]any{"agent": number}, "custom": map[string]any{"x": number},
		})},
		{SummaryMetrics: object(t, map[string]any{"validation_metrics": map[string]any{"accuracy": number}})},
		{},
	}
	want := []Metric{{"validation", "accuracy"}, {"validation", "loss"}, {"training", "loss"}, {"custom", "x"}}
	got := MetricsOf(trials)
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
	for _, tt := range []struct{ wanted, searcher, want string }{
		{"", "loss", "validation.loss"},
		{"training.loss", "loss", "training.loss"},
		{"", "other", "validation.accuracy"},
		{"nonsense", "loss", "validation.loss"},
		{"custom.a.b", "loss", "custom.a.b"},
	} {
		if got := Choose(want, tt.wanted, tt.searcher); got.String() != tt.want {
			t.Errorf("%+v: got %s", tt, got)
		}
	}
}

func TestFromTrial(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	point := func(batches int32, value any) *apiv1.DataPoint {
		return &apiv1.DataPoint{Batches: batches, Time: timestamppb.New(at), Values: object(t, map[string]any{"loss": value})}
	}
	s := FromTrial(&apiv1.ComparableTrial{
		Trial:   &apiv1.Trial{Id: 7, ExperimentId: 2},
		Metrics: []*apiv1.DownsampledMetrics{{Group: "training", Data: []*apiv1.DataPoint{point(1, 9)}}, {Group: "validation", Data: []*apiv1.DataPoint{point(1, 0.123456789), point(2, "NaN"), point(3, "Infinity"), point(4, 3)}}},
	}, Metric{"validation", "loss"})
	b, err := json.Marshal(NewData(Plot{X: "batches", Y: "validation.loss", Curves: []Series{s}, Live: true}))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"x":"batches","y":"validation.loss","time":false,"live":true,"curves":[{"name":"trial 7","link":"/det/experiments/2/trials/7","x":[1,2,3,4],"y":[0.123457,null,null,3],"lost":[2,3]}]}`
	if d := cmp.Diff(string(b), want); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
	var out strings.Builder
	if err := WriteCSV(&out, "batches", "validation.loss", []Series{s}); err != nil || !strings.Contains(out.String(), "trial 7,2,NaN,1970-01-01T00:16:40Z\n") {
		t.Errorf("got %v, %s", err, out.String())
	}
}

// A reduced curve has the smallest and the largest value, and its points are in order.
func TestReduce(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		points := make([]Point, 1+r.IntN(5000))
		lo, hi := math.Inf(1), math.Inf(-1)
		for i := range points {
			points[i] = Point{X: float64(i), Y: r.NormFloat64()}
			if r.IntN(40) == 0 {
				points[i].Y = math.NaN()
				continue
			}
			lo, hi = min(lo, points[i].Y), max(hi, points[i].Y)
		}
		most := 4 + 2*r.IntN(600)
		got := Reduce(points, most)
		has := func(y float64) bool { return slices.ContainsFunc(got, func(p Point) bool { return p.Y == y }) }
		if len(got) > most && len(got) != len(points) || !math.IsInf(lo, 1) && (!has(lo) || !has(hi)) ||
			!slices.IsSortedFunc(got, func(a, b Point) int { return int(a.X - b.X) }) {
			t.Fatalf("seed %d: %d of %d points, at most %d", seed, len(got), len(points), most)
		}
	}
}

func TestSmooth(t *testing.T) {
	t.Parallel()
	in := []Series{{Points: []Point{{Y: 0}, {Y: math.NaN()}, {Y: 1}, {Y: 1}}}}
	if got := Smooth(in, 0); &got[0].Points[0] != &in[0].Points[0] {
		t.Error("curves are smoothed without a weight")
	}
	got := Smooth(in, 50)[0].Points
	if got[0].Y != 0 || !math.IsNaN(got[1].Y) || math.Abs(got[2].Y-2.0/3) > 1e-9 || in[0].Points[3].Y != 1 {
		t.Errorf("got %v of %v", got, in[0].Points)
	}
}

func TestChartEscapesNames(t *testing.T) {
	t.Parallel()
	hostile := `validation."><script>alert(1)</script>` + "\u202e"
	c := Chart{
		Title: hostile, Page: "/det/experiments/1", Data: "/det/experiments/1/curves", Metric: hostile, Metrics: []string{hostile},
		Look: ReadLook(url.Values{"log": {"1"}, "smooth": {"90"}}), Kept: url.Values{"sort": {hostile}},
	}
	html := string(c.HTML())
	for _, part := range []string{"<script", "\u202e</option>"} {
		if strings.Contains(html, part) {
			t.Errorf("the chart contains %q:\n%s", part, html)
		}
	}
	if !strings.Contains(html, `wait smoothed">Smoothed with <span>90</span> %`) || !strings.Contains(html, "data-log") || strings.Contains(html, "cannot be shown") {
		t.Errorf("the chart does not say how it is drawn:\n%s", html)
	}
	if got := ReadLook(url.Values{"smooth": {"91"}}); got != (Look{}) {
		t.Errorf("got %+v for a weight that is not offered", got)
	}
}
