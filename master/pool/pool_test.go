package pool

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// machine returns an enabled agent with n enabled slots.
func machine(id AgentID, n int) Agent {
	a := Agent{ID: id, Enabled: true}
	for i := range n {
		a.Slots = append(a.Slots, Slot{ID: i, Enabled: true})
	}
	return a
}

// task returns a waiting allocation in a separate job. The number in its id is its submission time:
// "t3" was submitted three seconds after noon.
func task(id AllocationID, slots int, change ...func(*Allocation)) Allocation {
	n := 0
	_, _ = fmt.Sscanf(string(id), "t%d", &n) // other names are submitted at noon
	at := noon.Add(time.Duration(n) * time.Second)
	a := Allocation{
		ID: id, Job: JobID(id), Slots: slots, Priority: DefaultPriority,
		Position: Position(at.UnixNano()), Submitted: at, State: Pending,
	}
	for _, f := range change {
		f(&a)
	}
	return a
}

func priority(n int) func(*Allocation)        { return func(a *Allocation) { a.Priority = n } }
func job(id JobID) func(*Allocation)          { return func(a *Allocation) { a.Job = id } }
func position(p Position) func(*Allocation)   { return func(a *Allocation) { a.Position = p } }
func maxSlots(n int) func(*Allocation)        { return func(a *Allocation) { a.MaxSlots = n } }
func without(id ...AgentID) func(*Allocation) { return func(a *Allocation) { a.Exclude = id } }
func preemptible(a *Allocation)               { a.Preemptible = true }
func singleNode(a *Allocation)                { a.SingleNode = true }

// on makes an allocation a running one: "a:0,1" are two slots of agent a.
func on(places ...string) func(*Allocation) {
	return func(a *Allocation) {
		a.State = Running
		for _, place := range places {
			id, list, _ := strings.Cut(place, ":")
			share := Share{Agent: AgentID(id)}
			for _, s := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
				var n int
				if _, err := fmt.Sscan(s, &n); err != nil {
					panic(err)
				}
				share.Slots = append(share.Slots, n)
			}
			a.Placement = append(a.Placement, share)
		}
	}
}

// releasing makes an allocation one that was asked to stop, an hour before its deadline.
func releasing(a *Allocation) {
	a.State = Releasing
	a.Deadline = noon.Add(time.Hour)
}

// render formats a decision as one short line per item, sorted within a kind.
func render(d Decision) string {
	var starts, stops, waits []string
	for _, s := range d.Start {
		var places []string
		for _, p := range s.Placement {
			ids := strings.Trim(strings.ReplaceAll(fmt.Sprint(p.Slots), " ", ","), "[]")
			places = append(places, fmt.Sprintf("%s:%s", p.Agent, ids))
		}
		starts = append(starts, fmt.Sprintf("start %s %s", s.Allocation, strings.Join(places, " ")))
	}
	for _, p := range d.Preempt {
		stops = append(stops, fmt.Sprintf("preempt %s for %s", p.Allocation, p.For))
	}
	for _, id := range d.Kill {
		stops = append(stops, fmt.Sprintf("kill %s", id))
	}
	for _, w := range d.Waiting {
		waits = append(waits, fmt.Sprintf("%s: %s", w.Allocation, w.Reason))
	}
	for _, lines := range [][]string{starts, stops, waits} {
		slices.SortFunc(lines, cmp.Compare[string])
	}
	return strings.Join(slices.Concat(starts, stops, waits), "\n")
}

// want joins the lines of a decision in the order of render.
func want(lines ...string) string { return strings.Join(lines, "\n") }

func check(t *testing.T, p Pool, expected string) {
	t.Helper()
	if got := render(Decide(p, noon)); got != expected {
		t.Errorf("got\n%s\nwant\n%s", indent(got), indent(expected))
	}
}

func indent(s string) string { return "  " + strings.ReplaceAll(s, "\n", "\n  ") }
