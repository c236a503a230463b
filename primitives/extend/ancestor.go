package extend

import (
	"context"
	"reflect"
)

// cancelKey is the key by which package context finds the nearest context, the context itself or a
// parent, that it made and that can be cancelled.
var cancelKey = func() any {
	probe := &keyProbe{Context: context.Background(), done: make(chan struct{})}
	_, cancel := context.WithCancel(probe)
	cancel()
	return probe.key
}()

// keyProbe is a context that records the key of the last call of Value.
type keyProbe struct {
	context.Context //nolint:containedctx // It is a context.
	done            chan struct{}
	key             any
}

// Done implements [context.Context].
func (p *keyProbe) Done() <-chan struct{} { return p.done }

// Value implements [context.Context].
func (p *keyProbe) Value(key any) any {
	p.key = key
	return nil
}

// endsWith reports whether ctx ends when parent ends. Package context has made parent. If a context
// between them is by [context.WithoutCancel], ctx has the parent's values, but does not end with it.
// If a later version of package context has other types, endsWith reports false.
func endsWith(ctx, parent context.Context) bool {
	for {
		near, _ := ctx.Value(cancelKey).(context.Context)
		switch {
		case near == nil, near.Done() != ctx.Done(): // It is of another package, or never ends.
			return false
		case near == parent:
			return true
		}
		next := reflect.Indirect(reflect.ValueOf(near)).FieldByName("Context")
		if !next.IsValid() {
			return false
		}
		ctx, _ = next.Interface().(context.Context)
	}
}
