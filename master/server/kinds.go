package server

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// The functions below serve the calls that tasks of all kinds have in common. Each kind has a message of its
// own in the API, with the fields of a command and some others.

// listKind returns a page of the listed tasks of a kind.
func listKind[T any, M message[T]](s *shared, c *call, k lifecycle.Kind) ([]M, *apiv1.Pagination, error) {
	q, p, err := s.taskQuery(c)
	if err != nil {
		return nil, nil, err
	}
	q.Kind = k
	list, err := s.cfg.Tasks.Commands(c.Context(), q)
	out := make([]M, 0, len(list))
	for _, one := range list {
		out = append(out, asKind[T, M](one))
	}
	return out, p.Pagination, err
}

// killKind kills a task of a kind.
func killKind[T any, M message[T]](s *shared, c *call, k lifecycle.Kind, id string) (M, error) {
	c.noteTarget(id, s.ownerOf(c, id))
	killed, err := s.cfg.Tasks.KillKind(c.Context(), c.user, k, id)
	return asKind[T, M](killed), err
}

// setKindPriority changes the priority of a task of a kind.
func setKindPriority[T any, M message[T]](s *shared, c *call, k lifecycle.Kind, id string, priority int32) (M, error) {
	c.noteTarget(id, s.ownerOf(c, id), fmt.Sprintf("priority=%d", priority))
	changed, err := s.cfg.Tasks.SetKindPriority(c.Context(), c.user, k, id, int(priority))
	return asKind[T, M](changed), err
}

// asKind returns a task as the message of its kind.
func asKind[T any, M message[T]](task *apiv1.Command) M {
	out := M(new(T))
	apiv1.FillTask(proto.Message(out), task)
	return out
}
