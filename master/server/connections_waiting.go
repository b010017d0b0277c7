package server

import (
	"net"
	"slices"
	"time"
)

const (
	// mostWaiting is how many connections wait for room. One that waits is a socket of the
	// kernel that is not read yet, some 4 KB, and no goroutine.
	mostWaiting = 8192
	// waitingTime is how long one waits: a master admits more than a thousand agents a
	// second, and agents give up after a third of a reconnect wait, 8.3 s.
	waitingTime = 8 * time.Second
)

// waitingConnection is one that has been accepted, and for which there is no room yet.
type waitingConnection struct {
	conn    net.Conn
	address string
	// admit hands it on, counted in.
	admit  func(leave func())
	expiry *time.Timer
}

// waitingConnections are those of one server, by address, in the order in which they
// came.
type waitingConnections struct {
	from map[string][]*waitingConnection
	all  int
}

// add has a connection wait.
func (w *waitingConnections) add(c *waitingConnection) {
	w.all++
	w.from[c.address] = append(w.from[c.address], c)
}

// take removes the first of an address that has room, whichever; nil where none has.
func (w *waitingConnections) take(hasRoom func(address string) bool) *waitingConnection {
	for address, all := range w.from {
		if hasRoom(address) {
			w.remove(all[0])
			return all[0]
		}
	}
	return nil
}

// remove says whether the connection was still waiting.
func (w *waitingConnections) remove(c *waitingConnection) bool {
	all := w.from[c.address]
	i := slices.Index(all, c)
	if i < 0 {
		return false
	}
	w.all--
	c.expiry.Stop()
	switch {
	case len(all) == 1:
		delete(w.from, c.address)
	case i == 0: // nearly always
		w.from[c.address] = all[1:]
	default:
		w.from[c.address] = slices.Delete(all, i, i+1)
	}
	return true
}

// enterOrWait counts a connection in and admits it, now or when there is room. It is false
// for one that may not wait.
func (c *connections) enterOrWait(conn net.Conn, address string, admit func(leave func())) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hasRoom(address) {
		admit(c.countIn(address))
		return true
	}
	if c.waiting.all >= mostWaiting && !c.makeWay(address) {
		return false
	}
	w := &waitingConnection{conn: conn, address: address, admit: admit}
	c.waiting.add(w)
	w.expiry = time.AfterFunc(waitingTime, func() { c.expire(w) })
	return true
}

// makeWay closes the last that waits of the address of which most do, so that one who takes all
// places keeps no other from waiting. It is false where that address has no more than this one. The
// caller holds mu.
func (c *connections) makeWay(address string) bool {
	if len(c.waiting.from) > mostWaiting/2 {
		return false // they have one each or two, and are many to look at
	}
	least, last := len(c.waiting.from[address])+1, (*waitingConnection)(nil)
	for other, all := range c.waiting.from {
		if len(all) > least && !c.isProxy(other) {
			least, last = len(all), all[len(all)-1]
		}
	}
	if last == nil {
		return false
	}
	c.waiting.remove(last)
	_ = last.conn.Close() // whatever becomes of the call
	return true
}

// expire closes a connection that has waited for too long. The client sees it, and may try
// again.
func (c *connections) expire(w *waitingConnection) {
	c.mu.Lock()
	waited := c.waiting.remove(w)
	c.mu.Unlock()
	if waited {
		_ = w.conn.Close() // whatever becomes of the call
	}
}

// closeWaiting closes all that wait.
func (c *connections) closeWaiting() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, all := range c.waiting.from {
		for _, w := range all {
			w.expiry.Stop()
			_ = w.conn.Close() // the server stops
		}
	}
	c.waiting.from, c.waiting.all = map[string][]*waitingConnection{}, 0
}
