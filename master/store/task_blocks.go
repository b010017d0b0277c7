package store

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
)

const (
	// blockRows is how many rows a block has about, and so how many of an index a page reads: less than a
	// millisecond's worth. A block of twice as many is split.
	blockRows = 10_000
	// farBlocks is how many blocks of rows a page reads without their help before they are counted.
	farBlocks = 10
	// mostSets is how many orders of some groups are counted, of which those that were asked for last are kept.
	mostSets = 16
)

// taskBlocks counts the listed tasks in blocks, so that a page of the middle of many is found without
// counting all before it. They are in memory: made when such a page is asked for, and kept by the writer, which
// makes every change.
type taskBlocks struct {
	mu   sync.Mutex // guards what follows; held for moments only
	sets map[string]*blockSet
	asks uint64
	// splitting says that blocks that are too large are being split.
	splitting bool
	// rows is how many a block has about.
	rows int
}

func newTaskBlocks() *taskBlocks {
	return &taskBlocks{sets: map[string]*blockSet{}, rows: blockRows}
}

// blockSet is the blocks of one order, in that order. Only the writer changes it.
type blockSet struct {
	order TaskOrder
	// groups are those whose rows are wanted, nil for all, and text their numbers.
	groups map[groupName]bool
	text   string
	// indexed says that an index has the wanted rows alone.
	indexed bool
	// list is empty until the rows were counted first.
	list  []block
	asked uint64
}

// groupName is what makes a group.
type groupName struct {
	user, workspace int32
	username        string
}

// block is the rows from its place to that of the next.
type block struct {
	from rowPlace // of the first block before all
	// rows are what a look at the whole block reads, and wanted those of the groups.
	rows, wanted int
}

// rowPlace is where a task stands in an order. What the order does not sort by is empty.
type rowPlace struct {
	text      string
	submitted int64
	id        string
}

// firstPlace is before that of each row.
func firstPlace() rowPlace { return rowPlace{submitted: math.MinInt64} }

func comparePlaces(a, b rowPlace) int {
	return cmp.Or(strings.Compare(a.text, b.text), cmp.Compare(a.submitted, b.submitted), strings.Compare(a.id, b.id))
}

func (o TaskOrder) placeOf(r TaskRow) rowPlace {
	p := rowPlace{submitted: r.Submitted, id: r.ID}
	switch o {
	case BySubmission:
	case ByTaskID:
		p.submitted = 0
	case ByTaskName:
		p.text = string(sortKey(r.Name))
	case ByTaskPool:
		p.text = string(sortKey(r.Pool))
	}
	return p
}

func newBlockSet(p TaskPage) *blockSet {
	s := &blockSet{order: p.Order, indexed: p.hasIndex()}
	if !p.hasAll() {
		s.text, s.groups = p.groupText(), map[groupName]bool{}
		for _, g := range p.Groups {
			s.groups[groupName{g.UserID, g.Workspace, g.Username}] = true
		}
	}
	return s
}

// countAll makes one block of all rows.
func (s *blockSet) countAll(all []TaskGroup) {
	b := block{from: firstPlace()}
	for _, g := range all {
		in := s.groups == nil || s.groups[groupName{g.UserID, g.Workspace, g.Username}]
		if in {
			b.wanted += g.Tasks
		}
		if in || !s.indexed {
			b.rows += g.Tasks
		}
	}
	s.list = []block{b}
}

// count notes that a row has come, or gone.
func (s *blockSet) count(r TaskRow, sign int) {
	in := s.groups == nil || s.groups[groupName{r.UserID, r.Workspace, r.Username}]
	if len(s.list) == 0 || s.indexed && !in {
		return
	}
	i := s.blockOf(s.order.placeOf(r))
	s.list[i].rows += sign
	if in {
		s.list[i].wanted += sign
	}
	if s.list[i].rows == 0 && len(s.list) > 1 { // its place is the one's before, or the first's
		s.list = slices.Delete(s.list, i, i+1)
		s.list[0].from = firstPlace()
	}
}

func (s *blockSet) blockOf(at rowPlace) int {
	i, found := slices.BinarySearchFunc(s.list[1:], at, func(b block, at rowPlace) int { return comparePlaces(b.from, at) })
	if found {
		i++
	}
	return i
}

// find is the block of the wanted row of that number, and how many of the block's are before it.
func (s *blockSet) find(n int) (b block, rest int) {
	for i, b := range s.list {
		if n < b.wanted || i == len(s.list)-1 {
			return b, n
		}
		n -= b.wanted
	}
	return block{}, n
}

func (s *blockSet) total() int {
	n := 0
	for _, b := range s.list {
		n += b.wanted
	}
	return n
}

// largest is the first block that has to be split, -1 for none.
func (s *blockSet) largest(rows int) int {
	return slices.IndexFunc(s.list, func(b block) bool { return b.rows > 2*rows })
}

// isSplit says that its blocks are as small as they are to be.
func (s *blockSet) isSplit(rows int) bool { return len(s.list) > 0 && s.largest(rows) < 0 }

// blockPage is a page that is read from a block on, in ascending order.
type blockPage struct {
	from rowPlace
	rest int
}

// findPage says where a page begins, if its blocks are small enough already. Otherwise split says that the caller is to
// have them split.
func (t *taskBlocks) findPage(p TaskPage) (at blockPage, found, split bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.setOf(p)
	if !s.isSplit(t.rows) && !t.splitting {
		t.splitting, split = true, true
	}
	if len(s.list) == 0 {
		return at, false, split
	}
	n := p.Offset
	if p.Descending {
		n = s.total() - p.Offset - p.Limit
	}
	b, rest := s.find(max(n, 0))
	return blockPage{b.from, rest}, b.rows <= farBlocks*t.rows, split
}

// setOf makes the set of a page, without counting it, and forgets the one that was not asked for longest.
func (t *taskBlocks) setOf(p TaskPage) *blockSet {
	key := string(p.Order)
	if !p.hasAll() {
		key += " " + p.groupText()
	}
	s := t.sets[key]
	if s == nil {
		s = newBlockSet(p)
		t.sets[key] = s
	}
	t.asks++
	s.asked = t.asks
	for len(t.sets) > mostSets {
		oldest := key
		for k, s := range t.sets {
			if s.asked < t.sets[oldest].asked {
				oldest = k
			}
		}
		delete(t.sets, oldest)
	}
	return s
}

// areCounted says whether a change has to be noted.
func (t *taskBlocks) areCounted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.sets {
		if len(s.list) > 0 {
			return true
		}
	}
	return false
}

func (t *taskBlocks) count(r TaskRow, sign int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.sets {
		s.count(r, sign)
	}
}

// forget is for when a change may not have been done.
func (t *taskBlocks) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.sets)
}
