package wire

import "sync"

// Fetched keeps the results of calls by key, so that a form makes no call twice. It is safe for concurrent
// use, and its zero value is ready to use.
type Fetched[T any] struct {
	mu    sync.Mutex // guards byKey
	byKey map[string]T
}

// Get returns the result for key. It makes the call if there is none. Errors are not kept.
func (f *Fetched[T]) Get(key string, call func() (T, error)) (T, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if v, found := f.byKey[key]; found {
		return v, nil
	}
	v, err := call()
	if err == nil {
		f.put(key, v)
	}
	return v, err
}

// Put keeps the result for key.
func (f *Fetched[T]) Put(key string, v T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(key, v)
}

func (f *Fetched[T]) put(key string, v T) {
	if f.byKey == nil {
		f.byKey = make(map[string]T)
	}
	f.byKey[key] = v
}
