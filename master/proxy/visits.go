package proxy

import (
	"sync"

	"github.com/det-deploy/det-deploy/master/rm"
)

// mostVisits is the maximum number of open requests per container: browsers open six connections per tab,
// and a notebook some more for its kernels.
const mostVisits = 256

// visits counts the open requests of each container.
type visits struct {
	most int

	mu   sync.Mutex // guards open
	open map[rm.ContainerID]int
}

func newVisits(most int) *visits { return &visits{most: most, open: map[rm.ContainerID]int{}} }

// enter counts a request until leave is called. It reports false beyond the limit.
func (v *visits) enter(c rm.ContainerID) (leave func(), ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.open[c] >= v.most {
		return nil, false
	}
	v.open[c]++
	return func() { v.leave(c) }, true
}

func (v *visits) leave(c rm.ContainerID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.open[c]--; v.open[c] == 0 {
		delete(v.open, c)
	}
}
