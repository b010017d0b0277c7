package agent

import (
	"context"
	"log/slog"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/agent/disk"
	"github.com/det-deploy/det-deploy/agent/task"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// No message from a master makes the agent panic or write outside its directory.
func FuzzTake(f *testing.F) {
	add := func(m *agentv1.MasterMessage) {
		data, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	add(startMessage(&agentv1.Start{ContainerId: "c", AllocationId: "a", Spec: &agentv1.Spec{}}))
	add(startMessage(&agentv1.Start{ContainerId: "../c"}))
	add(&agentv1.MasterMessage{Body: &agentv1.MasterMessage_Signal{Signal: &agentv1.Signal{ContainerId: "known", Kind: agentv1.Signal_KIND_TERMINATE, GraceUs: -1}}})
	add(&agentv1.MasterMessage{Body: &agentv1.MasterMessage_LogAck{LogAck: &agentv1.LogAck{ContainerId: "known", NextSeq: 1 << 63}}})
	add(&agentv1.MasterMessage{Body: &agentv1.MasterMessage_Ack{Ack: &agentv1.Ack{ContainerId: "known", State: apiv1.Container_STATE_TERMINATED}}})
	add(&agentv1.MasterMessage{Body: &agentv1.MasterMessage_Shutdown{Shutdown: &agentv1.Shutdown{}}})
	add(&agentv1.MasterMessage{})
	f.Fuzz(func(t *testing.T, data []byte) {
		m := &agentv1.MasterMessage{}
		if proto.Unmarshal(data, m) != nil {
			return
		}
		d, err := disk.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		a := &Agent{
			cfg: Config{Log: slog.New(slog.DiscardHandler)}, disk: d, tasks: map[string]*task.Task{},
			welcomed: make(chan struct{}), spawn: func(func(context.Context)) {},
		}
		if err := a.addTask(&agentv1.Start{ContainerId: "known", AllocationId: "a"}); err != nil {
			t.Fatal(err)
		}
		s := newSession(a, nil, &agentv1.Welcome{})
		s.takeMessage(m)
		s.takeMessage(m)
		for _, u := range a.listTasks() {
			if v := u.View(); v.Acked > v.Lines {
				t.Errorf("%d of %d lines are acknowledged", v.Acked, v.Lines)
			}
			_ = u.Journal.Close()
		}
		s.collectPending()
	})
}
