package task_test

import (
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// forecaster is a resource manager that places tasks itself.
type forecaster struct {
	*machine

	asked    rm.Request
	forecast rm.Forecast
}

func (f *forecaster) Forecast(_ context.Context, r rm.Request) (rm.Forecast, error) {
	f.asked = r
	return f.forecast, nil
}

func (f *forecaster) Pools() []*apiv1.ResourcePool {
	return []*apiv1.ResourcePool{{Name: "aux"}, {Name: "gpu", SlotPrice: &apiv1.SlotPrice{PerHour: 2, Currency: "EUR"}}}
}

func (f *forecaster) Queue(rm.QueuePart) []*apiv1.Job {
	waits := &apiv1.JobSummary{State: apiv1.Job_STATE_QUEUED}
	return []*apiv1.Job{
		{JobId: "a", EntityId: "a", Priority: new(int32(42)), AllocatedSlots: 3, Summary: &apiv1.JobSummary{State: apiv1.Job_STATE_SCHEDULED}},
		{JobId: "b", Priority: new(int32(42)), Summary: waits},
		{JobId: "c", Priority: new(int32(50)), Summary: waits},
	}
}

func TestPreviewChangesNothing(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	request := command(t, `{"entrypoint":["ls"],"resources":{"slots":2}}`)
	plain, err := m.tasks.Preview(t.Context(), ann(), request)
	if err != nil || plain.GetPlacement() != nil || plain.GetResourcePool() != "gpu" || plain.GetSlots() != 2 {
		t.Fatalf("got %v, %v, want no placement", plain, err)
	}
	f := &forecaster{machine: m.machine, forecast: rm.Forecast{Pool: "gpu", Priority: 42, Waiting: "no free slots"}}
	if err := m.tasks.Attach(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	got, err := m.tasks.Preview(t.Context(), ann(), request)
	want := &apiv1.CommandPlacement{
		Priority: 42, Reason: "no free slots", Queue: &apiv1.QueuePlace{JobsAhead: 1, Holders: []*apiv1.SlotHolder{{Id: "a", Slots: 3}}},
	}
	if err != nil || !proto.Equal(got.GetPlacement(), want) || got.GetSlotPrice().GetPerHour() != 2 {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if f.asked.Slots != 2 || f.asked.Pool != "gpu" {
		t.Errorf("got request %+v", f.asked)
	}
	f.forecast = rm.Forecast{Pool: "gpu", Priority: 1, Placement: []rm.Share{{Agent: "a1", Slots: []int{3}}}}
	got, err = m.tasks.Preview(t.Context(), ann(), request)
	if p := got.GetPlacement(); err != nil || len(p.GetParts()) != 1 || p.GetParts()[0].GetAgentId() != "a1" || p.GetQueue() != nil {
		t.Errorf("got %v, %v, want a1", got, err)
	}
	m.machine.mu.Lock()
	defer m.machine.mu.Unlock()
	if m.machine.submits != 0 {
		t.Errorf("got %d submissions, want none", m.machine.submits)
	}
}

func TestPreviewRefusesWhatLaunchRefuses(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	_, err := m.tasks.Preview(t.Context(), ann(), command(t, `{"entrypoint":["ls"],"resources":{"resource_pool":"none"}}`))
	if status.Of(err) != status.InvalidArgument {
		t.Errorf("got %v, want the unknown pool", err)
	}
	request := command(t, `{"entrypoint":["ls"]}`)
	request.Array = &apiv1.TaskArray{Size: 2}
	if _, err = m.tasks.Preview(t.Context(), ann(), request); status.Of(err) != status.InvalidArgument {
		t.Errorf("got %v, want arrays refused", err)
	}
}
