package agentrm

import (
	"errors"
	"sync"
)

// errCrowded is the answer to a connection that may not wait for its introduction.
var errCrowded = errors.New("too many connections of agents that are not admitted yet; try again in a second")

// admissions counts the connections that have not been admitted, in all and by
// address. Those that have been are not counted: a thousand agents behind one address
// pass through here one after the other.
type admissions struct {
	most, each int

	mu   sync.Mutex // guards what follows
	all  int
	from map[string]int
}

func newAdmissions(l Limits) *admissions {
	return &admissions{most: l.Unwelcomed, each: l.UnwelcomedEach, from: map[string]int{}}
}

// admitConnection counts a connection in. The caller leaves when it is admitted or gone, and
// may do so twice.
func (u *admissions) admitConnection(address string) (leave func(), err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.most > 0 && u.all >= u.most || u.each > 0 && u.from[address] >= u.each {
		return nil, errCrowded
	}
	u.all++
	u.from[address]++
	return sync.OnceFunc(func() { u.releaseConnection(address) }), nil
}

func (u *admissions) releaseConnection(address string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all--
	if u.from[address]--; u.from[address] == 0 {
		delete(u.from, address)
	}
}
