package extend

import (
	"context"
	"fmt"
	"iter"

	"github.com/hasp-go/hasp/backend"
)

// Scan yields the keys that match pattern, as [backend.Scanner] does, one element for each step. An error ends it:
// [backend.ErrNotSupported] if the backend is no Scanner, [backend.ErrClosed] after Close, or one of the backend. While
// the caller has an element, Close does not wait for the caller.
func (c *Core) Scan(ctx context.Context, pattern string, step int) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		b, can := c.backend.(backend.Scanner)
		if !can {
			yield(nil, fmt.Errorf("the backend lists no keys: %w", backend.ErrNotSupported))
			return
		}
		next, stop := iter.Pull2(b.Scan(ctx, pattern, step))
		defer stop()
		for {
			if err := c.enter(); err != nil {
				yield(nil, err)
				return
			}
			keys, err, more := next()
			c.work.Leave()
			if !more || !yield(keys, err) {
				return
			}
		}
	}
}
