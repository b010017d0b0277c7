package change

import (
	"cmp"
	"maps"
	"slices"

	"github.com/det-deploy/det-deploy/master/experiment/record"
)

// trials are the trials of an experiment as a draft has them: the stored ones, and over them those that the draft
// changes or creates.
type trials struct {
	x       *Experiment
	changed map[int32]record.Trial
	// created are the ids of the trials that the draft creates, in their order.
	created []int32
	undo    trialsUndo
}

// trialsUndo is what trials were before the latest piece of news; nil is a trial that it changed first.
type trialsUndo struct {
	changed map[int32]*record.Trial
	created int
}

// begin makes undo take back what is noted from now on.
func (s *trials) begin() {
	s.undo = trialsUndo{changed: map[int32]*record.Trial{}, created: len(s.created)}
}

// takeBack makes the trials what they were at begin.
func (s *trials) takeBack() {
	s.created = s.created[:s.undo.created]
	for id, t := range s.undo.changed {
		if t == nil {
			delete(s.changed, id)
		} else {
			s.changed[id] = *t
		}
	}
}

func (s *trials) get(id int32) (record.Trial, bool) {
	if t, found := s.changed[id]; found {
		return t, true
	}
	return s.x.Trial(id)
}

// all is every trial in the order of creation.
func (s *trials) all() []record.Trial {
	out := s.x.Trials()
	for i, t := range out {
		if changed, found := s.changed[t.ID]; found {
			out[i] = changed
		}
	}
	for _, id := range s.created {
		out = append(out, s.changed[id])
	}
	return out
}

// numbered is the trial that the search knows by a number.
func (s *trials) numbered(number int) (record.Trial, bool) {
	at := number - 1
	if at >= 0 && at < len(s.x.trials) {
		return s.get(s.x.trials[at].ID)
	}
	if at -= len(s.x.trials); at >= 0 && at < len(s.created) {
		return s.get(s.created[at])
	}
	return record.Trial{}, false
}

// last is the trial that was created last.
func (s *trials) last() (record.Trial, bool) {
	if n := len(s.created); n > 0 {
		return s.get(s.created[n-1])
	}
	if n := len(s.x.trials); n > 0 {
		return s.get(s.x.trials[n-1].ID)
	}
	return record.Trial{}, false
}

// put notes a trial.
func (s *trials) put(t record.Trial) {
	if _, noted := s.undo.changed[t.ID]; !noted && s.undo.changed != nil {
		s.undo.changed[t.ID] = nil
		if old, found := s.changed[t.ID]; found {
			s.undo.changed[t.ID] = &old
		}
	}
	s.changed[t.ID] = t
}

// sorted is the changed and created trials, by id.
func (s *trials) sorted() []record.Trial {
	return slices.SortedFunc(maps.Values(s.changed), func(a, b record.Trial) int { return cmp.Compare(a.ID, b.ID) })
}
