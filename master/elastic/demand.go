package elastic

import (
	"slices"

	"github.com/det-deploy/det-deploy/cloud"
)

// Fate is the prospect of a waiting gang.
type Fate string

// Fate values.
const (
	// Fits on the present machines: the scheduler will place it, or has promised slots to it.
	Fits Fate = "fits"
	// Coming waits for machines that have been requested or are starting.
	Coming Fate = "coming"
	// Wanted needs machines that are to be launched now.
	Wanted Fate = "wanted"
	// AtMax needs more machines than the pool may have.
	AtMax Fate = "at-max"
	// TooLarge cannot run on machines of the pool's shape, in any number.
	TooLarge Fate = "too-large"
	// AtJobLimit waits until other allocations of the job end.
	AtJobLimit Fate = "at-job-limit"
)

// demand is the total demand of the waiting gangs.
type demand struct {
	// machines is the number of machines to launch.
	machines int
	// used are agents on which waiting gangs will run, and which therefore are not idle.
	used map[cloud.InstanceID]bool
	// fates has one entry per gang.
	fates []Fate
}

// assessDemand packs the waiting gangs onto free slots, then onto machines that are starting, then onto
// at most room machines to launch. A gang is packed as the scheduler places it: on one machine or in
// equal shares on as few as possible, completely or else nowhere. A gang that does not fit completely
// takes nothing, so that no machine is launched only to wait.
//
// Zero-slot tasks take no slots. They are packed afterwards, onto the auxiliary places of all these
// machines.
func (f *Fleet) assessDemand(room int) demand {
	y := f.newYard(room)
	d := demand{used: make(map[cloud.InstanceID]bool), fates: make([]Fate, len(f.Waiting))}
	jobs := make(map[string]int)
	for _, slotted := range []bool{true, false} {
		for i, g := range f.Waiting {
			if (g.Slots > 0) != slotted {
				continue
			}
			if g.JobRoom >= 0 && jobs[g.Job]+g.Slots > g.JobRoom && slotted {
				d.fates[i] = AtJobLimit
				continue
			}
			d.fates[i] = y.packGang(g)
			if d.fates[i] == Fits || d.fates[i] == Coming || d.fates[i] == Wanted {
				jobs[g.Job] += g.Slots
			}
		}
	}
	d.machines = y.launched
	for _, b := range y.bins {
		if b.agent != "" && b.taken {
			d.used[b.agent] = true
		}
	}
	return d
}

// bin is a machine that gangs are packed onto: an agent, or a machine without one yet.
type bin struct {
	agent     cloud.InstanceID // empty for a machine without an agent
	fate      Fate             // of the gangs packed onto it
	free, aux int
	taken     bool
}

// yard indexes all bins by their free slots, so that ten thousand gangs are packed without visiting a
// thousand machines each.
type yard struct {
	bins   []bin
	byFree [][]int // bins by free slots; the last of a row is used first
	byAgnt map[cloud.InstanceID]int
	// nextAux is the first bin that may have places for zero-slot tasks.
	nextAux  int
	shape    Shape
	room     int
	launched int
}

func (f *Fleet) newYard(room int) *yard {
	y := &yard{shape: f.Shape, room: room, byAgnt: make(map[cloud.InstanceID]int, len(f.Agents))}
	coming := f.countLaunching()
	for _, id := range f.sortedIDs() {
		// Count the machine only if its agent has never been present; otherwise the agent's bin counts.
		if f.Machines[id].State == Starting && f.byID[id] == nil {
			coming++
		}
	}
	// Bins are used in reverse order of addition.
	for range coming {
		y.addBin(bin{fate: Coming, free: f.Shape.Slots, aux: f.Shape.Aux})
	}
	for _, a := range slices.Backward(f.Agents) {
		if m := f.Machines[a.ID]; m != nil && (m.State == Draining || m.State == Terminating) {
			continue
		}
		fate := Fits
		if a.Lost {
			fate = Coming
		}
		y.addBin(bin{agent: a.ID, fate: fate, free: max(a.Free, 0), aux: max(a.Aux, 0)})
	}
	return y
}

func (y *yard) addBin(b bin) {
	y.bins = append(y.bins, b)
	i := len(y.bins) - 1
	if b.agent != "" {
		y.byAgnt[b.agent] = i
	}
	y.indexBin(i)
}

func (y *yard) indexBin(i int) {
	free := y.bins[i].free
	for len(y.byFree) <= free {
		y.byFree = append(y.byFree, nil)
	}
	y.byFree[free] = append(y.byFree[free], i)
}

// packGang takes room for one gang and returns its fate.
func (y *yard) packGang(g Gang) Fate {
	if g.Slots == 0 {
		return y.packAux(g)
	}
	parts, launch, fate := y.splitGang(g)
	if parts == 0 {
		return fate
	}
	for range launch {
		y.launchBin()
	}
	fate, share := Fits, g.Slots/parts
	for range parts {
		fate = worseFate(fate, y.takeShare(share, g.Exclude))
	}
	return fate
}

func (y *yard) launchBin() {
	y.launched++
	y.room--
	y.addBin(bin{fate: Wanted, free: y.shape.Slots, aux: y.shape.Aux})
}

// splitGang returns the smallest number of machines that a gang can be split over with as few launches
// as possible. If there is no such number, parts is 0 and fate is the reason.
func (y *yard) splitGang(g Gang) (parts, launch int, fate Fate) {
	most, room, fate := g.Slots, y.room, TooLarge
	if g.Single {
		most = 1
	}
	if g.Promised {
		room = 0
	}
	for m := 1; m <= most; m++ {
		share := g.Slots / m
		if m*share != g.Slots {
			continue
		}
		missing := max(m-y.atLeast(share, g.Exclude, m), 0)
		if missing > 0 && share > y.shape.Slots {
			continue
		}
		if missing > room {
			fate = AtMax
			continue
		}
		if parts == 0 || missing < launch {
			parts, launch = m, missing
		}
		if launch == 0 {
			break
		}
	}
	if g.Promised && parts == 0 {
		fate = Fits
	}
	return parts, launch, fate
}

// atLeast returns the number of bins with at least the given free slots. It may stop counting at enough.
func (y *yard) atLeast(free int, exclude []cloud.InstanceID, enough int) int {
	n := 0
	for u := free; u < len(y.byFree) && n < enough+len(exclude); u++ {
		n += len(y.byFree[u])
	}
	for _, id := range exclude {
		if i, known := y.byAgnt[id]; known && y.bins[i].free >= free {
			n--
		}
	}
	return n
}

// takeShare takes one share from the bin that it leaves with the fewest free slots. The caller has
// checked that there is room.
func (y *yard) takeShare(share int, exclude []cloud.InstanceID) Fate {
	for u := share; u < len(y.byFree); u++ {
		row := y.byFree[u]
		for at, i := range slices.Backward(row) {
			if slices.Contains(exclude, y.bins[i].agent) && y.bins[i].agent != "" {
				continue
			}
			y.byFree[u] = slices.Delete(row, at, at+1)
			b := &y.bins[i]
			b.free, b.taken = b.free-share, true
			y.indexBin(i)
			return b.fate
		}
	}
	return TooLarge
}

// packAux takes a place for one zero-slot task, on agents before starting machines, and returns its
// fate.
func (y *yard) packAux(g Gang) Fate {
	for y.nextAux < len(y.bins) && y.auxBin(y.nextAux).aux == 0 {
		y.nextAux++
	}
	for i := y.nextAux; i < len(y.bins); i++ {
		b := y.auxBin(i)
		if b.aux == 0 || (b.agent != "" && slices.Contains(g.Exclude, b.agent)) {
			continue
		}
		b.aux, b.taken = b.aux-1, true
		return b.fate
	}
	switch {
	case g.Promised:
		return Fits
	case y.shape.Aux == 0:
		return TooLarge
	case y.room <= 0:
		return AtMax
	}
	y.launchBin()
	b := &y.bins[len(y.bins)-1]
	b.aux, b.taken = b.aux-1, true
	return Wanted
}

// auxBin returns the n-th bin in the order in which zero-slot tasks use them: agents were added after
// the starting machines, and machines to launch after both.
func (y *yard) auxBin(n int) *bin {
	known := len(y.bins) - y.launched
	if n < known {
		return &y.bins[known-1-n]
	}
	return &y.bins[n]
}

// worseFate returns the fate of a gang whose parts have fates a and b.
func worseFate(a, b Fate) Fate {
	order := []Fate{Fits, Coming, Wanted}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}
