package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// DescribeQueue returns the number of jobs ahead of a waiting one.
func DescribeQueue(q *apiv1.QueuePlace) string {
	switch {
	case q == nil:
		return ""
	case q.GetJobsAhead() == 0:
		return "next"
	}
	return term.Count(int(q.GetJobsAhead()), "job") + " ahead"
}

// DescribeHolders returns the jobs that hold the slots of the pool of a waiting one.
func DescribeHolders(q *apiv1.QueuePlace) string { return DescribeJobs(q.GetHolders(), q.GetMore()) }

// DescribeJobs lists jobs with their slots, and the number of others.
func DescribeJobs(jobs []*apiv1.SlotHolder, more int32) string {
	var parts []string
	for _, h := range jobs {
		parts = append(parts, fmt.Sprintf("%s of %s (%s, %s)", h.GetName(), h.GetUsername(), h.GetId(), term.Count(int(h.GetSlots()), "slot")))
	}
	if more > 0 {
		parts = append(parts, term.Count(int(more), "other job"))
	}
	return strings.Join(parts, ", ")
}

// PrintLastLines prints lines of a program with a title, below a description as text.
func (o *Local) PrintLastLines(title string, lines []string) error {
	if len(lines) == 0 || !o.Output.IsText() {
		return nil
	}
	o.Printf("%s", title)
	var err error
	for _, line := range lines {
		err = errors.Join(err, o.PrintForeign("  ", strings.TrimSuffix(line, "\n")+"\n"))
	}
	return err
}
