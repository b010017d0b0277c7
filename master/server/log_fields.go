package server

import (
	"context"
	"slices"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/log"
)

// sendFields sends the values by which a task's log can be filtered. With follow, it sends the complete
// set again whenever it grows, until the task has ended.
func (l *logCalls) sendFields(ctx context.Context, id string, follow bool, send func(*apiv1.TaskLogsFieldsResponse) error) error {
	fields := &logFields{}
	for e, err := range l.logEntries(ctx, log.Filter{Task: id}, false) {
		if err != nil {
			return err
		}
		fields.add(e)
	}
	if err := send(fields.response()); err != nil || !follow {
		return err
	}
	for e, err := range l.logEntries(ctx, log.Filter{Task: id, From: fields.next}, true) {
		if err != nil {
			return err
		}
		if !fields.add(e) {
			continue
		}
		if err := send(fields.response()); err != nil {
			return err
		}
	}
	return nil
}

// logFields collects the values by which a log can be filtered, in the order of their first occurrence.
type logFields struct {
	agents, containers, stdtypes, sources, allocations []string
	ranks                                              []int32
	// next is the ID of the first line that was not read yet.
	next int64
}

// add adds the values of a line and reports whether any of them is new.
func (f *logFields) add(e log.Entry) bool {
	f.next = e.ID + 1
	fresh := false
	for _, of := range []struct {
		list  *[]string
		value string
	}{
		{&f.agents, e.Agent},
		{&f.containers, e.Container},
		{&f.stdtypes, e.Stdtype},
		{&f.sources, e.Source},
		{&f.allocations, e.Allocation},
	} {
		if of.value != "" && !slices.Contains(*of.list, of.value) {
			*of.list, fresh = append(*of.list, of.value), true
		}
	}
	if e.Rank != nil && !slices.Contains(f.ranks, int32(*e.Rank)) {
		f.ranks, fresh = append(f.ranks, int32(*e.Rank)), true
	}
	return fresh
}

func (f *logFields) response() *apiv1.TaskLogsFieldsResponse {
	return &apiv1.TaskLogsFieldsResponse{
		AgentIds: slices.Clone(f.agents), ContainerIds: slices.Clone(f.containers), RankIds: slices.Clone(f.ranks),
		Stdtypes: slices.Clone(f.stdtypes), Sources: slices.Clone(f.sources), AllocationIds: slices.Clone(f.allocations),
	}
}
