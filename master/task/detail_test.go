package task

import (
	"testing"

	"google.golang.org/protobuf/proto"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func TestPlaceAmongJobs(t *testing.T) {
	t.Parallel()
	job := func(id string, state apiv1.Job_State, held int32) *apiv1.Job {
		return &apiv1.Job{JobId: "job-" + id, EntityId: id, Name: "n" + id, Username: "ann", AllocatedSlots: held, Summary: &apiv1.JobSummary{State: state}}
	}
	const runs, waits = apiv1.Job_STATE_SCHEDULED, apiv1.Job_STATE_QUEUED
	me := job("me", waits, 0)
	me.RequestedSlots = 1
	jobs := []*apiv1.Job{job("a", runs, 2), job("b", waits, 0), job("c", runs, 8), job("aux", runs, 0), me, job("d", waits, 0)}
	want := &apiv1.QueuePlace{JobsAhead: 1, Holders: []*apiv1.SlotHolder{
		{Id: "c", Name: "nc", Username: "ann", Slots: 8}, {Id: "a", Name: "na", Username: "ann", Slots: 2},
	}}
	if got := placeAmong(jobs, "job-me"); !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := placeAmong(jobs, "job-d"); len(got.GetHolders()) != 0 || got.GetJobsAhead() != 2 {
		t.Errorf("got %v for a task without slots", got)
	}
	if got := placeAmong(jobs, "job-none"); got != nil {
		t.Errorf("got %v for a job that is not queued", got)
	}
	for range 5 {
		jobs = append(jobs, job("x", runs, 1))
	}
	if got := placeAmong(jobs, "job-me"); len(got.GetHolders()) != mostHolders || got.GetMore() != 2 {
		t.Errorf("got %d holders and %d more, want %d and 2", len(got.GetHolders()), got.GetMore(), mostHolders)
	}
}
