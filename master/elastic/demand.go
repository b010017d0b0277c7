package elastic

import (
	"slices"

	"github.com/det-deploy/det-deploy/cloud"
)

// Fate is what becomes of one waiting gang.
type Fate string

// The fates.
const (
	// Fits on what is there: the scheduler will place it, or has promised to.
	Fits Fate = "fits"
	// Coming has its machines on their way.
	Coming Fate = "coming"
	// Wanted needs machines that are to be launched now.
	Wanted Fate = "wanted"
	// AtMax would need more machines than the pool may have.
	AtMax Fate = "at-max"
	// TooLarge fits no machine of the pool, however many.
	TooLarge Fate = "too-large"
	// AtJobLimit waits for its own job.
	AtJobLimit Fate = "at-job-limit"
)

// demand is what the waiting gangs come to.
type demand struct {
	// machines is how many must be launched.
	machines int
	// used are agents that waiting gangs will run on: they are not idle.
	used map[cloud.InstanceID]bool
	// fates has one entry a gang.
	fates []Fate
}

// assessDemand packs what waits onto what is free, then onto what is on its way, then
// onto machines to be launched, at most room of them. A gang is packed as the
// scheduler places it: on one machine or in equal shares on as few as possible,
// and whole or not at all. One that cannot be whole takes nothing, so that no
// machine is launched that would only wait.
//
// Zero-slot tasks take no slots; they come on top, onto the places that all
// these machines have.
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

// bin is one machine that gangs are packed onto: an agent, or one to come.
type bin struct {
	agent     cloud.InstanceID // empty for one without an agent
	fate      Fate             // of what is packed onto it
	free, aux int
	taken     bool
}

// yard is all bins, found by how much is free on them, so that ten thousand
// gangs are packed without visiting a thousand machines each.
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
		// Its agent has never been there; once it was, the agent speaks for it.
		if f.Machines[id].State == Starting && f.byID[id] == nil {
			coming++
		}
	}
	// What is used last is added first.
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

// packGang finds room for one gang and takes it.
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

// splitGang finds over how few machines a gang goes, with as few launches as
// possible. Without an answer the fate says why.
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

// atLeast counts bins with that much free, up to enough.
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

// takeShare packs one share where it leaves the least. The caller knows that there
// is room.
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

// packAux takes a place for one zero-slot task, on agents before machines to
// come.
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

// auxBin is the n-th bin in the order in which zero-slot tasks use them: agents
// were added behind what is coming, and machines to be launched behind both.
func (y *yard) auxBin(n int) *bin {
	known := len(y.bins) - y.launched
	if n < known {
		return &y.bins[known-1-n]
	}
	return &y.bins[n]
}

// worseFate is the fate of a gang of which one part has fate a and another b.
func worseFate(a, b Fate) Fate {
	order := []Fate{Fits, Coming, Wanted}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}
