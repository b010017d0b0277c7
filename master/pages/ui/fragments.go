package ui

import (
	"sync"
	"time"
)

// fragments has the live blocks that were rendered a moment ago, by session and address: a visitor may have the
// same page in many tabs, each of which asks every other second.
type fragments struct {
	mu    sync.Mutex // guards byKey
	byKey map[string]*fragment
}

// fragment is a live block.
type fragment struct {
	mu   sync.Mutex // guards the fields; held while it is rendered
	at   time.Time
	body []byte
}

// kept is the number of fragments from which on expired ones are removed.
const kept = 64

// of returns the fragment of a session and an address. Others that have expired may be removed.
func (f *fragments) of(session, address string, expired func(time.Time) bool) *fragment {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byKey == nil {
		f.byKey = map[string]*fragment{}
	}
	if len(f.byKey) >= kept {
		for key, one := range f.byKey {
			if one.mu.TryLock() { // otherwise it is being rendered
				if expired(one.at) {
					delete(f.byKey, key)
				}
				one.mu.Unlock()
			}
		}
	}
	key := session + " " + address
	if f.byKey[key] == nil {
		f.byKey[key] = &fragment{}
	}
	return f.byKey[key]
}

// reuse sends the live block of the visit if it was rendered a moment ago. Otherwise it locks the fragment
// until the block is rendered or the visit ends.
func (v *Visit) reuse() bool {
	if v.site.cfg.Reuse == 0 || !v.IsLive() || v.session == "" || !isReading(v.Request) {
		return false
	}
	expired := func(at time.Time) bool { return v.Now.Sub(at) >= v.site.cfg.Reuse }
	f := v.site.fragments.of(v.session, v.URL.RequestURI(), expired)
	f.mu.Lock()
	if f.body == nil || expired(f.at) {
		f.body, v.rendering = nil, f
		return false
	}
	body := f.body
	f.mu.Unlock()
	v.sendLive(body)
	return true
}

// keep stores the rendered block of the visit.
func (v *Visit) keep(body []byte) {
	if v.rendering != nil {
		v.rendering.body, v.rendering.at = body, v.Now
		v.release()
	}
}

// release ends the wait of other visits for the block.
func (v *Visit) release() {
	if v.rendering != nil {
		v.rendering.mu.Unlock()
		v.rendering = nil
	}
}
