package watch

import "k8s.io/client-go/tools/cache"

// caches contains the informers of one kind, one per namespace.
type caches []cache.SharedIndexInformer

// byIndex returns the objects of an index under a key. The index was created with the informer.
func (c caches) byIndex(index, key string) []any {
	var out []any
	for _, i := range c {
		if found, err := i.GetIndexer().ByIndex(index, key); err == nil {
			out = append(out, found...)
		}
	}
	return out
}

// getObject returns an object by namespace/name.
func (c caches) getObject(key string) (any, bool) {
	for _, i := range c {
		if o, found, err := i.GetIndexer().GetByKey(key); found && err == nil {
			return o, true
		}
	}
	return nil, false
}

func (c caches) listObjects() []any {
	var out []any
	for _, i := range c {
		out = append(out, i.GetIndexer().List()...)
	}
	return out
}
