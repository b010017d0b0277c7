package task

import (
	"testing"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// valueOf returns the value of a row.
func valueOf(rows [][2]string, name string) string {
	for _, r := range rows {
		if r[0] == name {
			return r[1]
		}
	}
	return "no such row"
}

func TestDescribeTellsWhy(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	attempts := int32(2)
	waiting := &apiv1.GetCommandResponse{
		Command: &apiv1.Command{
			Status: text("queued"), Reason: text("no free slots"), Preemption: text("preempted for task b (train) of bob"), Attempts: &attempts,
			Labels: map[string]string{"team": "vision", "a": ""},
		},
		Queue: &apiv1.QueuePlace{JobsAhead: 2, More: 1, Holders: []*apiv1.SlotHolder{{Id: "b", Name: "train", Username: "bob", Slots: 8}}},
	}
	killed := &apiv1.GetCommandResponse{Command: &apiv1.Command{
		Status: text("preempted"), Reason: text("preempted by user ann"), Preemption: text("preempted by user ann"),
	}}
	for _, tt := range []struct {
		reply     *apiv1.GetCommandResponse
		row, want string
	}{
		{waiting, "State", "queued"},
		{waiting, "Labels", "a=,team=vision"},
		{waiting, "Reason", "no free slots"},
		{waiting, "Queue", "2 jobs ahead"},
		{waiting, "Slots held by", "train of bob (b, 8 slots), 1 other job"},
		{waiting, "Preempted", "preempted for task b (train) of bob (this is attempt 2)"},
		{killed, "State", "preempted"},
		{killed, "Reason", "preempted by user ann"},
		{killed, "Preempted", ""},
		{killed, "Queue", ""},
		{&apiv1.GetCommandResponse{Command: &apiv1.Command{}, Queue: &apiv1.QueuePlace{}}, "Queue", "next"},
	} {
		if got := valueOf(pairs(tt.reply), tt.row); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.row, got, tt.want)
		}
	}
}

func TestLabelsAreRead(t *testing.T) {
	t.Parallel()
	got, err := readLabels([]string{"team=vision", "empty=", "team=vision"})
	if err != nil || formatLabels(got) != "empty=,team=vision" {
		t.Errorf("got %v and %v", got, err)
	}
	for _, bad := range [][]string{{"team"}, {"=x"}, {"a=1", "a=2"}} {
		if _, err := readLabels(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
