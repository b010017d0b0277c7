package elastic_test

import (
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/elastic"
)

func TestMasterDowntimeDoesNotCountAgainstMachines(t *testing.T) {
	t.Parallel()
	const almost = elastic.Patience - time.Second
	lost := func() *scene { return at(limits()).joined(8, "m").agent("m", nil) }
	quick := with(func(l *elastic.Limits) { l.MaxStarting = time.Minute })
	for _, tc := range []struct {
		name string
		s    *scene
		then time.Duration
		want string
	}{
		{"a machine starts, and has time to come", at(limits()).launched("m").later(time.Hour), almost, ""},
		{"it does not come", at(limits()).launched("m").later(time.Hour), elastic.Patience, "terminate m (never-joined); "},
		{"it had more time left than that", at(limits()).launched("m").later(time.Minute), 19*time.Minute - 1, ""},
		{"its pool has less patience than that", at(quick).launched("m").later(time.Hour), time.Minute, "terminate m (never-joined); "},
		{"its agent was lost, and has time to come back", lost().later(time.Hour), almost, ""},
		{"it does not come back", lost().later(time.Hour), elastic.Patience, "terminate m (lost); "},
		{"the clock was set back by years", at(limits()).launched("m").later(-1000 * time.Hour), 20 * time.Minute, "terminate m (never-joined); "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.s.f.Resume(tc.s.now)
			tc.s.later(tc.then)
			if got := short(elastic.Decide(tc.s.f, tc.s.now)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestClockSetBackIsTolerated(t *testing.T) {
	t.Parallel()
	s := at(limits()).launched("stays", "ends").terminated("ends").open("t", 1)
	s.f.Gone["was"] = s.now
	s.now = s.now.Add(-1000 * time.Hour)
	s.f.Resume(s.now)
	s.later(elastic.TokenLife)
	if d := elastic.Decide(s.f, s.now); len(d.Forget) != 1 {
		t.Errorf("got %v forgotten, want the old launch", d.Forget)
	}
	delete(s.f.Launches, "t")
	s.list(running("ends"), running("was"))
	if m := s.f.Machines["ends"]; !m.Accepted.IsZero() {
		t.Errorf("got a termination accepted at %v that was not carried out, want it repeated", m.Accepted)
	}
	if got := s.stateOf("was"); got != elastic.Terminating {
		t.Errorf("got %q for a machine that was considered gone, want it terminated", got)
	}
	s.list().later(elastic.ListLag).list()
	if got := s.stateOf("stays"); got != "" {
		t.Errorf("got %q for a machine that is not listed, want it gone", got)
	}
}
