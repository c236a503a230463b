package primitives

import "github.com/hasp-go/hasp/primitives/trace"

// maxRecent is the largest number of young names, and of old ones.
const maxRecent = 2000

// recent is a bounded memory of what a client knows of names. If there are too many, those are forgotten that were not
// kept for the longest time. The zero value is ready. The caller holds a mutex.
type recent[V any] struct {
	young, old map[trace.Object]V
}

// get returns the value of a name, or the zero value.
func (r *recent[V]) get(name trace.Object) V {
	if v, ok := r.young[name]; ok {
		return v
	}
	return r.old[name]
}

// keep keeps a name among the young ones.
func (r *recent[V]) keep(name trace.Object, v V) {
	if len(r.young) >= maxRecent {
		r.young, r.old = nil, r.young
	}
	if r.young == nil {
		r.young = make(map[trace.Object]V)
	}
	r.young[name] = v
}

// forget forgets a name, and reports whether others are left.
func (r *recent[V]) forget(name trace.Object) (others bool) {
	delete(r.young, name)
	delete(r.old, name)
	return len(r.young)+len(r.old) > 0
}
