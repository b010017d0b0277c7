// Package recordtest has the tests for all stores of a cluster's record: a store in memory and the
// contract of record.Store.
package recordtest

import (
	"context"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/installer/record"
)

// Memory is a store in memory. The zero value is a store that does not exist yet.
type Memory struct {
	// Before is called for each operation, such as "put lease.json", before it takes effect. An
	// error that it returns rejects the operation. It may be nil.
	Before func(op string) error

	mu      sync.Mutex // guards the fields below
	made    bool
	objects map[string]record.Object
	writes  int
}

var _ record.Keeper = (*Memory)(nil)

// Make creates the store.
func (m *Memory) Make(context.Context) error {
	return m.do("make", func() error {
		m.made = true
		return nil
	})
}

// Get returns an object, or a NotFound error.
func (m *Memory) Get(_ context.Context, key string) (o record.Object, err error) {
	err = m.do("get "+key, func() error {
		var ok bool
		if o, ok = m.objects[key]; !ok {
			return &cloud.Error{Kind: cloud.NotFound, Op: "get", Resource: key}
		}
		o.Read = time.Now()
		return nil
	})
	return o, err
}

// Put writes an object. It returns a Conflict error if its version is not was.
func (m *Memory) Put(_ context.Context, key string, data []byte, was string) (version string, err error) {
	err = m.do("put "+key, func() error {
		if !m.made {
			return &cloud.Error{Kind: cloud.NotFound, Op: "put", Resource: key}
		}
		if m.objects[key].Version != was {
			return &cloud.Error{Kind: cloud.Conflict, Op: "put", Resource: key}
		}
		if m.objects == nil {
			m.objects = make(map[string]record.Object)
		}
		m.writes++
		version = strconv.Itoa(m.writes)
		m.objects[key] = record.Object{Data: data, Version: version, Written: time.Now()}
		return nil
	})
	return version, err
}

// Delete removes an object. It returns a Conflict error if its version is not was.
func (m *Memory) Delete(_ context.Context, key, was string) error {
	return m.do("delete "+key, func() error {
		o, ok := m.objects[key]
		if ok && o.Version != was {
			return &cloud.Error{Kind: cloud.Conflict, Op: "delete", Resource: key}
		}
		delete(m.objects, key)
		return nil
	})
}

// Destroy deletes the store with its objects.
func (m *Memory) Destroy(context.Context) error {
	return m.do("destroy", func() error {
		m.made, m.objects = false, nil
		return nil
	})
}

// DestroyExcept deletes all objects but one.
func (m *Memory) DestroyExcept(_ context.Context, key string) error {
	return m.do("destroy except "+key, func() error {
		maps.DeleteFunc(m.objects, func(other string, _ record.Object) bool { return other != key })
		return nil
	})
}

// Exists reports whether the store was created and not destroyed.
func (m *Memory) Exists() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.made
}

func (m *Memory) do(op string, f func() error) error {
	if m.Before != nil {
		if err := m.Before(op); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return f()
}
