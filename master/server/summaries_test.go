package server

import (
	"encoding/json"
	"iter"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/task"
)

func summariesOfAllKinds() []*apiv1.AllocationSummary {
	priority, container, code := int32(42), "c1", int32(-9)
	at := func(nanos int32) *timestamppb.Timestamp {
		return &timestamppb.Timestamp{Seconds: 1_700_000_000, Nanos: nanos}
	}
	return []*apiv1.AllocationSummary{
		{},
		{TaskId: "a", AllocationId: "a.1", Name: "Command (brave-cat)", RegisteredTime: at(0), ResourcePool: "default", SlotsNeeded: 8, SchedulerType: "priority", Priority: &priority},
		{AllocationId: "b.1", Name: "\"quoted\" \\ <b>&amp;\n\t\x01 \x7f äöü \u2028 😀", RegisteredTime: at(7_000_000), Priority: new(int32)},
		{AllocationId: "c.1", Name: `"`, RegisteredTime: at(7_000)},
		{
			AllocationId: "d.1", RegisteredTime: at(7), ProxyPorts: []*apiv1.ProxyPortConfig{{ServiceId: "d", Port: 8888, ProxyTcp: true}, {}},
			Resources: []*apiv1.ResourcesSummary{{}, {
				ResourcesId: "c1", ContainerId: &container, AgentDevices: map[string]*apiv1.ResourcesSummary_Devices{"a1": {Devices: []*apiv1.Device{{Id: 3}}}},
				Started: &apiv1.ResourcesStarted{}, Exited: &apiv1.ResourcesStopped{Failure: &apiv1.ResourcesFailure{ErrMsg: "x", ExitCode: &code}},
			}},
		},
	}
}

func TestSummariesFormat(t *testing.T) {
	t.Parallel()
	for i, s := range summariesOfAllKinds() {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			text, err := appendSummary([]byte("{"), s)
			if err != nil {
				t.Fatal(err)
			}
			want, err := writing.Marshal(&apiv1.GetTasksResponse{AllocationIdToSummary: map[string]*apiv1.AllocationSummary{s.GetAllocationId(): s}})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(map[string]any{"allocationIdToSummary": decodeTree(t, append(text, '}'))}, decodeTree(t, want)); d != "" {
				t.Errorf("(-got +want):\n%s", d)
			}
		})
	}
}

// Every field of the message is written: a new one needs a line.
func TestSummariesHaveAllFields(t *testing.T) {
	t.Parallel()
	fields := (&apiv1.AllocationSummary{}).ProtoReflect().Descriptor().Fields()
	text, err := appendSummary([]byte("{"), &apiv1.AllocationSummary{AllocationId: "a.1", Priority: new(int32)})
	if err != nil {
		t.Fatal(err)
	}
	tree, _ := decodeTree(t, append(text, '}')).(map[string]any)
	written, _ := tree["a.1"].(map[string]any)
	for i := range fields.Len() {
		name := fields.Get(i).JSONName()
		if _, found := written[name]; !found {
			t.Errorf("%s is not written", name)
		}
	}
}

func decodeTree(t *testing.T, text []byte) any {
	t.Helper()
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return tree
}

// fewTasks implements only summaries.
type fewTasks struct {
	Tasks

	list []*apiv1.AllocationSummary
}

func (f fewTasks) Summaries(write task.Summary) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, s := range f.list {
			if !yield(write(nil, s)) {
				return
			}
		}
	}
}

// A response of many pieces is complete, and so is an empty one.
func TestSummariesOfManyTasksAreOneAnswer(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 3_000} {
		want := &apiv1.GetTasksResponse{AllocationIdToSummary: map[string]*apiv1.AllocationSummary{}}
		var list []*apiv1.AllocationSummary
		for i := range n {
			s := proto.CloneOf(summariesOfAllKinds()[i%5])
			s.AllocationId, s.RegisteredTime = strconv.Itoa(i)+".1", timestamppb.New(time.Unix(int64(i), 0))
			list, want.AllocationIdToSummary[s.AllocationId] = append(list, s), s
		}
		rec := httptest.NewRecorder()
		c := &call{Request: httptest.NewRequestWithContext(t.Context(), "GET", "/api/v1/tasks", nil), w: rec}
		if err := (&taskCalls{&shared{cfg: Config{Tasks: fewTasks{list: list}}}}).writeSummaries(c, `{"allocationIdToSummary":{`, appendSummary, "}}"); err != nil {
			t.Fatal(err)
		}
		got := &apiv1.GetTasksResponse{}
		if err := reading.Unmarshal(rec.Body.Bytes(), got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(got, want, protocmp.Transform(), protocmp.IgnoreEmptyMessages()); d != "" {
			t.Errorf("%d tasks (-got +want):\n%s", n, d)
		}
	}
}

func BenchmarkSummaries(b *testing.B) {
	s := summariesOfAllKinds()[1]
	var text []byte
	for b.Loop() {
		text, _ = appendSummary(text[:0], s)
	}
	b.SetBytes(int64(len(text)))
}
