package queue

import (
	"errors"
	"fmt"
	"slices"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/rm"
)

// The range of a job's priority. Rules.HighFirst decides which end is served first.
const (
	MinPriority = 1
	MaxPriority = 99
)

// CheckRequest returns an error if a request is invalid in every pool.
func CheckRequest(r rm.Request) error {
	var errs []error
	if r.Allocation == "" || r.Job == "" {
		errs = append(errs, errors.New("allocation and job must be set"))
	}
	if r.Slots < 0 {
		errs = append(errs, fmt.Errorf("slots: must not be negative (%d)", r.Slots))
	}
	if r.Priority != 0 {
		errs = append(errs, CheckPriority(r.Priority))
	}
	if r.MaxSlots < 0 {
		errs = append(errs, fmt.Errorf("max_slots: must not be negative (%d)", r.MaxSlots))
	}
	return errors.Join(errs...)
}

// CheckPriority returns an error if a priority is out of range.
func CheckPriority(n int) error {
	if n < MinPriority || n > MaxPriority {
		return fmt.Errorf("priority: must be %d to %d (%d)", MinPriority, MaxPriority, n)
	}
	return nil
}

// Validate returns an error if a request could never run.
func (q *Queue) Validate(r rm.Request) error {
	p, err := q.PoolOf(r)
	if err != nil {
		return err
	}
	if err := CheckRequest(r); err != nil {
		return err
	}
	return q.rules.Fits(p.Name, r)
}

// PoolOf returns the pool that a request names, or the default pool for its number of slots. It returns
// ErrUnknownPool if the pool does not exist.
func (q *Queue) PoolOf(r rm.Request) (Pool, error) {
	switch {
	case r.Pool != "":
		return q.poolNamed(r.Pool)
	case r.Slots == 0:
		return q.poolNamed(q.rules.DefaultAux)
	}
	return q.poolNamed(q.rules.DefaultCompute)
}

func (q *Queue) poolNamed(name string) (Pool, error) {
	for _, p := range q.rules.Pools {
		if p.Name == name {
			return p, nil
		}
	}
	return Pool{}, fmt.Errorf("%w: %q; choose one of %q", rm.ErrUnknownPool, excerpt.Of(name), q.poolNames())
}

func (q *Queue) hasPool(name string) bool {
	_, err := q.poolNamed(name)
	return err == nil
}

func (q *Queue) poolNames() []string {
	names := make([]string, 0, len(q.rules.Pools))
	for _, p := range q.rules.Pools {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names
}
