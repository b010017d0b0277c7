package change

import (
	"cmp"
	"maps"
	"slices"

	"github.com/det-deploy/det-deploy/master/experiment/record"
)

// trials holds the trials of a draft: the stored ones, overlaid with the changed and created ones.
type trials struct {
	x       *Experiment
	changed map[int32]record.Trial
	// created lists the IDs of the trials that the draft creates, in order.
	created []int32
	undo    trialsUndo
}

// trialsUndo holds the trials from before the latest job. A nil trial was not yet changed by the
// draft.
type trialsUndo struct {
	changed map[int32]*record.Trial
	created int
}

// begin starts recording for takeBack.
func (s *trials) begin() {
	s.undo = trialsUndo{changed: map[int32]*record.Trial{}, created: len(s.created)}
}

// takeBack reverts the changes since begin.
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

// all returns every trial in the order of creation.
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

// numbered returns a trial by its position in the search.
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

// last returns the trial that was created last.
func (s *trials) last() (record.Trial, bool) {
	if n := len(s.created); n > 0 {
		return s.get(s.created[n-1])
	}
	if n := len(s.x.trials); n > 0 {
		return s.get(s.x.trials[n-1].ID)
	}
	return record.Trial{}, false
}

// put stores a trial in the draft.
func (s *trials) put(t record.Trial) {
	if _, noted := s.undo.changed[t.ID]; !noted && s.undo.changed != nil {
		s.undo.changed[t.ID] = nil
		if old, found := s.changed[t.ID]; found {
			s.undo.changed[t.ID] = &old
		}
	}
	s.changed[t.ID] = t
}

// sorted returns the changed and created trials, ordered by ID.
func (s *trials) sorted() []record.Trial {
	return slices.SortedFunc(maps.Values(s.changed), func(a, b record.Trial) int { return cmp.Compare(a.ID, b.ID) })
}
