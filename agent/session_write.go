package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/agent/task"
	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

const (
	// batchSize is the maximum text in one message of log lines, in bytes.
	batchSize = 256 << 10
	// window is the maximum number of unacknowledged log lines per container.
	window = 50_000
	// sendPause is the delay between writes, which combines messages of the same moment.
	sendPause = 2 * time.Millisecond
	// passingTime delays messages that usually become obsolete: receipts of orders and the states
	// before running.
	passingTime = 10 * time.Millisecond
)

// touchContainer schedules a container for the writer.
func (s *session) touchContainer(id string) {
	s.mu.Lock()
	s.work[id] = true
	s.mu.Unlock()
	wakeWaiter(s.more)
}

// touchPassing schedules a container for the writer, with the next write or after passingTime.
func (s *session) touchPassing(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.work[id] = true
	s.wakeLater()
}

// wakeLater wakes the writer after passingTime. The caller holds mu.
func (s *session) wakeLater() {
	if s.timed {
		return
	}
	s.timed = true
	time.AfterFunc(passingTime, func() {
		s.mu.Lock()
		s.timed = false
		s.mu.Unlock()
		wakeWaiter(s.more)
	})
}

// writeMessages sends pending messages, a batch per container in turn.
func (s *session) writeMessages(ctx context.Context) error {
	for {
		if err := s.writeAll(ctx); err != nil {
			return err
		}
		if err := wait.For(ctx, sendPause); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.more:
		}
	}
}

func (s *session) writeAll(ctx context.Context) error {
	for {
		p := s.collectPending()
		if len(p.direct)+len(p.unconfirmed)+len(p.containers) == 0 {
			return nil
		}
		if err := s.writePending(ctx, p); err != nil {
			return err
		}
	}
}

// pending is the set of messages to send.
type pending struct {
	direct      []*agentv1.AgentMessage
	unconfirmed map[string]bool
	containers  map[string]bool
}

func (s *session) collectPending() pending {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := pending{s.direct, s.unconfirmed, s.work}
	s.direct, s.unconfirmed, s.work = nil, map[string]bool{}, map[string]bool{}
	return p
}

func (s *session) writePending(ctx context.Context, p pending) error {
	for _, m := range p.direct {
		if err := s.conn.Send(ctx, m); err != nil {
			return err
		}
	}
	if !s.changeConfirms {
		if err := s.confirmOrders(ctx, p.unconfirmed); err != nil {
			return err
		}
	}
	for id := range p.containers {
		told, err := s.sendContainer(ctx, id)
		if err != nil {
			return err
		}
		if told {
			delete(p.unconfirmed, id)
		}
	}
	return s.confirmOrders(ctx, p.unconfirmed)
}

// confirmOrders acknowledges stored orders and removes them from ids.
func (s *session) confirmOrders(ctx context.Context, ids map[string]bool) error {
	for id := range ids {
		err := s.conn.Send(ctx, &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Received{Received: &agentv1.Received{ContainerId: id}}})
		if err != nil {
			return err
		}
	}
	clear(ids)
	return nil
}

// sendContainer sends the state of one container and one batch of its lines; if lines remain, it
// schedules the container again. It reports whether it sent a state.
func (s *session) sendContainer(ctx context.Context, id string) (told bool, err error) {
	u := s.agent.taskOf(id)
	if u == nil {
		delete(s.cursors, id)
		return false, nil
	}
	c := s.cursors[id]
	if c == nil {
		c = &cursor{}
		s.cursors[id] = c
	}
	v := u.View()
	if v.Forgotten {
		return false, nil
	}
	if s.isNews(c, v) && v.State.State != lifecycle.Terminated {
		if told, err = true, s.sendState(ctx, u, c, v); err != nil {
			return told, err
		}
	}
	if err := s.sendLines(ctx, u, c, v); err != nil {
		return told, err
	}
	// The exit is sent after all lines.
	if complete := v.Acked >= v.Lines || v.Unread != ""; complete && s.isNews(c, v) {
		return true, s.sendState(ctx, u, c, v)
	}
	return told, nil
}

// isNews reports whether the master does not have the state yet. Assigned is not sent.
func (*session) isNews(c *cursor, v task.View) bool {
	return v.State.State != lifecycle.Assigned && c.sent < v.State.State.Proto()
}

func (s *session) sendState(ctx context.Context, u *task.Task, c *cursor, v task.View) error {
	c.sent = v.State.State.Proto()
	return s.conn.Send(ctx, changeOf(u, v))
}

func (s *session) sendLines(ctx context.Context, u *task.Task, c *cursor, v task.View) error {
	if c.lines >= v.Lines || c.lines >= v.Acked+window || v.Unread != "" {
		return nil
	}
	lines, err := u.Journal.Read(c.lines, batchSize)
	if err != nil {
		u.Log.Error("cannot read log lines", "err", err)
		u.SetUnread(fmt.Sprintf("log lines from line %d on could not be read: %v", c.lines, err))
		s.touchContainer(u.ID())
		return nil // the exit message of the container contains the error
	}
	m := &agentv1.Logs{
		ContainerId: u.ID(), AllocationId: u.Order.GetAllocationId(), FirstSeq: c.lines,
		Lines: make([]*agentv1.Line, len(lines)),
	}
	for i, l := range lines {
		m.Lines[i] = &agentv1.Line{AtUs: l.At.UnixMicro(), Stdtype: l.Stream, Text: l.Text, Partial: l.Partial}
	}
	c.lines += uint64(len(lines))
	if c.lines < v.Lines {
		s.touchContainer(u.ID())
	}
	return s.conn.Send(ctx, &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Logs{Logs: m}})
}

// changeOf returns the message for the task's state.
func changeOf(u *task.Task, v task.View) *agentv1.AgentMessage {
	exit := v.State.Exit
	if exit != nil && v.Unread != "" {
		with := *exit
		with.Message = strings.TrimPrefix(with.Message+"; "+v.Unread, "; ")
		exit = &with
	}
	m := changeMessage(u.Order, v.State.State, v.State.AtMicros, exit)
	for _, a := range v.Addresses {
		m.GetChange().Addresses = append(m.GetChange().GetAddresses(), &apiv1.Address{
			ContainerIp: a.ContainerIP, ContainerPort: int32(a.ContainerPort),
			HostIp: a.HostIP, HostPort: int32(a.HostPort),
		})
	}
	return m
}

func changeMessage(o *agentv1.Start, state lifecycle.State, at int64, exit *lifecycle.Exit) *agentv1.AgentMessage {
	c := &agentv1.Change{
		ContainerId: o.GetContainerId(), AllocationId: o.GetAllocationId(), State: state.Proto(), AtUs: at,
	}
	if exit != nil {
		c.Exit = exit.Proto()
	}
	return &agentv1.AgentMessage{Body: &agentv1.AgentMessage_Change{Change: c}}
}
