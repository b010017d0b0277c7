package agent

import (
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/lifecycle"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// maxScarcePause is the longest between two tries to start a container on a machine
// that lacks something.
const maxScarcePause = 15 * time.Second

// isScarce says that this machine lacks something for now, which is no fault of the
// task: disk space, descriptors, memory or processes.
func isScarce(err error) bool {
	return slices.ContainsFunc([]error{
		unix.ENOSPC, unix.EDQUOT, unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EAGAIN,
	}, func(e error) bool { return errors.Is(err, e) })
}

// takePostponed tries again to keep the orders for which there was no room.
func (s *session) takePostponed() {
	s.mu.Lock()
	orders := s.postponed
	s.postponed = map[string]*agentv1.Start{}
	s.mu.Unlock()
	for _, o := range orders {
		s.takeStart(o)
	}
}

// dropPostponed ends a container whose order was never kept.
func (s *session) dropPostponed(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.postponed[id]
	if o == nil {
		return
	}
	delete(s.postponed, id)
	s.refuse(o, errUnwanted)
}

// refuse ends a container that is never started; the caller holds mu.
func (s *session) refuse(o *agentv1.Start, why error) {
	exit := lifecycle.Exit{Kind: lifecycle.NotStarted, Message: why.Error()}
	s.direct = append(s.direct, change(o, lifecycle.Terminated, time.Now().UnixMicro(), &exit))
	wake(s.more)
}
