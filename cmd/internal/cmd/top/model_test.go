package top

import (
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/test/golden"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func lab() snapshot {
	slot := func(busy bool) *apiv1.Slot {
		s := &apiv1.Slot{Enabled: true}
		if busy {
			s.Container = &apiv1.Container{Id: "c"}
		}
		return s
	}
	ago := func(d time.Duration) *timestamppb.Timestamp { return timestamppb.New(noon.Add(-d)) }
	job := func(id string, state apiv1.Job_State, held int32) *apiv1.Job {
		return &apiv1.Job{
			JobId: "job-" + id, EntityId: id, Name: id, Username: "ann", ResourcePool: "gpu", RequestedSlots: 2, AllocatedSlots: held,
			Summary: &apiv1.JobSummary{State: state}, SubmissionTime: ago(90 * time.Minute),
		}
	}
	reason := "no free slots\x1b[2J"
	return buildSnapshot(answers{
		agents: []*apiv1.Agent{{
			Id: "i-b", ResourcePools: []string{"gpu"}, Enabled: true, RegisteredTime: ago(time.Hour),
			Slots: map[string]*apiv1.Slot{"000": slot(true), "001": slot(false)},
		}, {Id: "i-a", ResourcePools: []string{"cpu"}, Draining: true, RegisteredTime: ago(50 * time.Hour)}},
		pools: []*apiv1.ResourcePool{
			{
				Name:     "gpu",
				Details:  &apiv1.ResourcePoolDetail{Aws: &apiv1.ResourcePoolAwsDetail{SpotMaxPrice: "0.40"}},
				Machines: &apiv1.PoolMachines{Refusals: []*apiv1.LaunchRefusal{{Reason: "no capacity for g5.xlarge"}}},
			},
			{Name: "cpu"},
		},
		launched: []*apiv1.Machine{
			{Id: "i-b", ResourcePool: "gpu", State: "joined", InstanceType: "g5.xlarge", Price: "on-demand"},
			{Id: "i-c", ResourcePool: "gpu", State: "starting", InstanceType: "g5.xlarge", Price: "spot", LaunchTime: ago(20 * time.Second)},
			{Id: "i-d", ResourcePool: "gpu", State: "gone", InstanceType: "g5.xlarge", Price: "spot"},
		},
		jobs: []*apiv1.Job{job("train", apiv1.Job_STATE_SCHEDULED, 2), job("wait", apiv1.Job_STATE_QUEUED, 0)},
		commands: []*apiv1.Command{
			{Id: "train", JobId: "job-train", State: apiv1.Task_STATE_RUNNING},
			{Id: "wait", JobId: "job-wait", State: apiv1.Task_STATE_QUEUED, Reason: &reason},
		},
	}, noon)
}

// open returns a model whose commands identify themselves.
func open() *model {
	return newModel(lab(), ways{
		url:     "https://lab:8443",
		look:    func() tea.Msg { return "look" },
		wait:    func() tea.Cmd { return func() tea.Msg { return "wait" } },
		readLog: func(task string) tea.Cmd { return func() tea.Msg { return "log of " + task } },
	})
}

func press(t *testing.T, m *model, keys ...string) tea.Cmd {
	t.Helper()
	var last tea.Cmd
	named := map[string]rune{"up": tea.KeyUp, "down": tea.KeyDown, "tab": tea.KeyTab, "enter": tea.KeyEnter, "esc": tea.KeyEscape}
	for _, k := range keys {
		msg := tea.KeyPressMsg{Text: k}
		if code, ok := named[k]; ok {
			msg = tea.KeyPressMsg{Code: code}
		}
		_, last = m.Update(msg)
	}
	return last
}

var painted = regexp.MustCompile("\x1b\\[[0-9;]*m")

func TestFrames(t *testing.T) {
	t.Parallel()
	log := make([]string, 30)
	for i := range log {
		log[i] = "step " + strings.Repeat("=", i)
	}
	for name, keys := range map[string][]string{"tables": nil, "second_task": {"down"}, "machines": {"tab", "down"}, "log": {"enter"}} {
		m := open()
		m.Update(tea.WindowSizeMsg{Width: 90, Height: 22})
		press(t, m, keys...)
		m.Update(logMsg{task: m.task, lines: log})
		got := painted.ReplaceAllString(m.View().Content, "")
		path := filepath.Join("testdata", name+".golden")
		golden.Compare(t, path, got)
	}
}

func TestEveryFrameFitsItsScreen(t *testing.T) {
	t.Parallel()
	m := open()
	for width := 1; width < 100; width += 7 {
		for height := 1; height < 30; height++ {
			m.Update(tea.WindowSizeMsg{Width: width, Height: height})
			lines := strings.Split(painted.ReplaceAllString(m.View().Content, ""), "\n")
			if len(lines) != height {
				t.Errorf("%d×%d: got %d lines", width, height, len(lines))
			}
			for _, l := range lines {
				if len([]rune(l)) > width {
					t.Errorf("%d×%d: %q is too long", width, height, l)
				}
			}
		}
	}
}

func TestSelectionIsKept(t *testing.T) {
	t.Parallel()
	m := open()
	if cmd := press(t, m, "down"); m.task != "wait" || cmd() != "log of wait" {
		t.Fatalf("got %q selected, want the second task and its log", m.task)
	}
	next := lab()
	next.tasks = next.tasks[1:]
	m.Update(lookedMsg{snapshot: next})
	if m.task != "wait" {
		t.Errorf("got %q, want the selected one", m.task)
	}
	m.Update(logMsg{task: "train", lines: []string{"late"}})
	if len(m.log) != 0 {
		t.Errorf("got %q, the log of another task", m.log)
	}
	next.tasks = nil
	m.Update(lookedMsg{snapshot: next})
	if m.task != "" || press(t, m, "down") != nil {
		t.Errorf("got %q of no tasks", m.task)
	}
}

func TestUnavailableMasterKeepsLastSnapshot(t *testing.T) {
	t.Parallel()
	m := open()
	m.Update(lookedMsg{err: errors.New("connection refused")})
	if text := m.View().Content; !strings.Contains(text, "as of 12:00:00: connection refused") || !strings.Contains(text, "i-b") {
		t.Errorf("got:\n%s\nwant the error and the machines", text)
	}
	m.Update(lookedMsg{snapshot: lab()})
	if text := m.View().Content; strings.Contains(text, "refused") {
		t.Errorf("got:\n%s\nwant no error after an answer", text)
	}
}

func TestTopQuitsByKey(t *testing.T) {
	t.Parallel()
	for want, key := range map[tea.Msg]tea.KeyPressMsg{tea.Quit(): {Text: "q"}, tea.Interrupt(): {Code: 'c', Mod: tea.ModCtrl}} {
		if _, cmd := open().Update(key); cmd == nil || cmd() != want {
			t.Errorf("%s does not end it with %T", key, want)
		}
	}
	if _, cmd := open().Update(dueMsg{}); cmd() != "look" {
		t.Error("got no look after a while")
	}
}
